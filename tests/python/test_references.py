"""Module contract §11: arrays in files, and Tesseracts as inputs."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support

ARRAYS = """
from pathlib import Path
from tesseract_core.runtime.config import get_config
from tesseract_core.runtime.experimental import BinrefArray, BinrefWriter
class InputSchema(BaseModel):
    code: str = ""
    x: Array[(None,), "float64"] = None
    text: str = ""
class OutputSchema(BaseModel):
    y: Array[(None,), "float64"] = [0]
    part: list[Differentiable[Array[..., None]]] = []
    seen: Any = None
def apply(inputs):
    names = {**globals(), "inputs": inputs}
    exec(inputs.code, names)
    return names.get("result", {"seen": names.get("seen")})
"""


def run(opened: Any, code: str) -> Any:
    return opened.call("apply", {"inputs": {"code": code}})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def writes(component: Any, out: Path) -> Any:
    return component(ARRAYS, output_path=str(out))


def test_written_arrays_reach_the_caller_as_they_are(writes: Any, out: Path) -> None:
    result = run(writes, "result = {'y': BinrefArray.write(np.arange(3.0))}")["y"]
    assert (result.shape, result.dtype) == ((3,), "float64")
    name, offset = result.buffer.split(":")
    assert (out / name).stat().st_size == 24 and offset == "0"
    assert result.load().tolist() == [0.0, 1.0, 2.0]
    assert np.asarray(result, "float32").dtype == np.float32
    assert name in repr(result)


def test_they_can_be_loaded_after_the_component_is_closed(
    writes: Any, out: Path, monkeypatch: Any, tmp_path: Path
) -> None:
    code = "result = OutputSchema(y=BinrefArray.write([1.0]), part=[BinrefArray.write(True)])"
    result = run(writes, code)
    writes.close()
    monkeypatch.chdir(tmp_path)
    assert result["y"].load().tolist() == [1.0]
    assert np.asarray(result["part"][0]).tolist() is True


def test_each_component_has_its_own_folder(component: Any, out: Path) -> None:
    first = component(ARRAYS, output_path=str(out / "a"))
    second = component(ARRAYS, output_path=str(out / "b"))
    arrays = [
        run(one, f"result = {{'y': BinrefArray.write([{n}.0])}}")["y"]
        for n, one in enumerate((first, second))
    ]
    assert [a.load().tolist() for a in arrays] == [[0.0], [1.0]]
    assert [len(list((out / name).iterdir())) for name in "ab"] == [1, 1]


def test_a_writer_fills_files_one_after_the_other(writes: Any, out: Path) -> None:
    code = (
        "w = BinrefWriter(max_file_size=20)\n"
        "seen = [w.write(np.full(2, n, float)) for n in range(4)]\n"
    )
    arrays = run(writes, code)["seen"]
    assert [a.load().tolist() for a in arrays] == [[n, n] for n in range(4)]
    assert [a.buffer.partition(":")[2] for a in arrays] == ["0", "16", "0", "16"]
    assert len(list(out.iterdir())) == 2


def test_compressed_arrays(writes: Any, out: Path) -> None:
    pytest.importorskip("lz4", reason="lz4 is not installed")
    code = (
        "w = BinrefWriter(compression='lz4')\n"
        "seen = [w.write(np.zeros(1000)), w.write(np.arange(3))]\n"
    )
    first, second = run(writes, code)["seen"]
    assert first.load().tolist() == [0.0] * 1000
    assert second.load().tolist() == [0, 1, 2]
    assert sum(p.stat().st_size for p in out.iterdir()) < 1000


def test_files_of_other_programs(writes: Any, out: Path) -> None:
    np.arange(4.0).tofile(out / "solver.bin")
    code = "result = {'y': BinrefArray.from_file('solver.bin', (2,), 'float64', offset=16)}"
    assert run(writes, code)["y"].load().tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'', (1,), 'float64'", "empty"),
        ("'none.bin', (1,), 'float64'", "does not exist"),
        ("'../small.bin', (1,), 'float64'", "not inside"),
        ("'/etc/passwd', (1,), 'float64'", "relative"),
        ("'http://x/y', (1,), 'float64'", "relative"),
        ("'small.bin', (2,), 'float64'", "8 bytes"),
        ("'small.bin', (1,), 'float64', offset=1", "8 bytes"),
        ("'small.bin', (1,), 'float31'", "float31"),
        ("'small.bin', (1,), 'float64', compression='lz4'", "compressed_size"),
    ],
)
def test_bad_files(writes: Any, out: Path, arguments: str, words: str) -> None:
    (out / "small.bin").write_bytes(bytes(8))
    with pytest.raises(RuntimeError, match=words):
        run(writes, f"BinrefArray.from_file({arguments})")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("np.arange(3)", "int64"),
        ("np.zeros((3, 1))", r"\(3, 1\)"),
        ("np.float64(1)", r"\(\)"),
    ],
)
def test_they_are_never_converted(writes: Any, value: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        run(writes, f"result = {{'y': BinrefArray.write({value})}}")


def test_they_are_not_made_directly(writes: Any) -> None:
    with pytest.raises(RuntimeError, match="from_file"):
        run(writes, "BinrefArray()")


def test_text_is_not_written(writes: Any, out: Path) -> None:
    with pytest.raises(RuntimeError, match="dtype <U1"):
        run(writes, "BinrefArray.write(['a'])")
    assert list(out.iterdir()) == []


def test_callers_in_c_get_the_array(writes: Any) -> None:
    code = "result = {'y': BinrefArray.write([4.0])}"
    plan = writes.prepare("apply", (), ("y",), (), json.dumps({"code": code}))
    (value,) = plan.run((), ())[0]
    assert np.asarray(value).tolist() == [4.0]


def test_json_of_the_module_is_relative_to_its_own_folders(component: Any, tmp_path: Path) -> None:
    source = ARRAYS.replace("InputSchema(BaseModel)", "Own(BaseModel)", 1) + (
        "class InputSchema(Own): pass\n"
    )
    opened = component(source, input_path=str(tmp_path), output_path=str(tmp_path))
    code = (
        "text = Own(x=[1, 2]).model_dump_json(context={'array_encoding': 'binref'},"
        " include={'x'})\n"
        "seen = [text, Own.model_validate_json(text).x.tolist()]\n"
    )
    text, back = run(opened, code)["seen"]
    assert back == [1.0, 2.0]
    assert (tmp_path / json.loads(text)["x"]["data"]["buffer"].split(":")[0]).exists()
    in_thread = (
        "import threading\n"
        "seen = []\n"
        "read = lambda: seen.append(Own.model_validate_json(inputs.text).x[0])\n"
        "t = threading.Thread(target=read); t.start(); t.join()\n"
    )
    result = opened.call("apply", {"inputs": {"code": in_thread, "text": text}})
    assert result["seen"] == [1.0]


def test_a_dump_shares_a_file(writes: Any, out: Path) -> None:
    code = (
        "text = OutputSchema(y=[1, 2], part=[[3], BinrefArray.write([4.0])]).model_dump_json("
        "context={'array_encoding': 'binref'})\n"
        "seen = text\n"
    )
    shown = json.loads(run(writes, code)["seen"])
    buffers = [shown["y"], *shown["part"]]
    names = [b["data"]["buffer"].split(":")[0] for b in buffers]
    assert names[0] == names[1] != names[2]
    assert len(list(out.iterdir())) == 2


def test_other_encodings_read_the_file(writes: Any) -> None:
    code = "seen = OutputSchema(y=BinrefArray.write([4.0])).model_dump_json(include={'y'})"
    with pytest.warns(RuntimeWarning, match="binref"):
        text = run(writes, code)["seen"]
    assert json.loads(text)["y"]["data"]["buffer"] == [4.0]


# ---- Tesseracts as inputs ----------------------------------------------------------------------

CALLER = """
from tesseract_core.runtime.experimental import TesseractReference
class InputSchema(BaseModel):
    other: TesseractReference
    code: str = "other.apply({'x': 3.0})['y']"
class OutputSchema(BaseModel):
    y: Any
def apply(inputs):
    return {"y": eval(inputs.code, {**globals(), "other": inputs.other, "inputs": inputs})}
"""

CALLED = support.schema_source("x: Float64", "y: Float64", "return {'y': inputs.x * 2}")


@pytest.fixture
def client() -> None:
    import tesseract_host

    if not hasattr(tesseract_host, "Tesseract"):
        pytest.skip("there is no client")


@pytest.mark.usefixtures("client")
def test_a_reference_behaves_as_that_tesseract(component: Any, tmp_path: Path) -> None:
    path = support.write(tmp_path / "called", CALLED)
    opened = component(CALLER)
    reference = {"type": "api_path", "ref": str(path)}

    def ask(**inputs: Any) -> Any:
        return opened.call("apply", {"inputs": {"other": reference, **inputs}})["y"]

    assert ask() == 6.0
    assert ask(code="other.available_endpoints")[0] == "apply"
    assert ask(code="inputs.model_dump()['other']") == reference
    assert json.loads(ask(code="inputs.model_dump_json()"))["other"] == reference


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("kind", ["image", "url"])
def test_others_need_tesseract_core(component: Any, monkeypatch: Any, kind: str) -> None:
    import sys

    opened = component(CALLER)
    monkeypatch.setitem(sys.modules, "tesseract_core", None)
    with pytest.raises(ImportError, match=f"'{kind}' needs tesseract-core"):
        opened.call("apply", {"inputs": {"other": {"type": kind, "ref": "x"}}})


@pytest.mark.parametrize(
    "given", [{"type": "door", "ref": "x"}, {"ref": "x"}, {"type": "url"}, "x", 3, None]
)
def test_bad_references(component: Any, given: Any) -> None:
    with pytest.raises(ValueError) as caught:
        component(CALLER).call("apply", {"inputs": {"other": given}})
    assert support.error_types(caught.value) == [("value_error", ("inputs", "other"))]


@pytest.mark.usefixtures("client")
def test_a_reference_to_nothing(component: Any, tmp_path: Path) -> None:
    reference = {"type": "api_path", "ref": str(tmp_path / "none.py")}
    with pytest.raises(FileNotFoundError):
        component(CALLER).call("apply", {"inputs": {"other": reference}})


def test_a_reference_asks_nobody_while_it_is_copied() -> None:
    from tesseract_host.runtime.experimental import TesseractReference

    reference = TesseractReference([1])
    assert pickle.loads(pickle.dumps(reference)).index(1) == 0
    with pytest.raises(AttributeError):
        TesseractReference.__new__(TesseractReference).anything  # noqa: B018


# ---- Device objects in JSON --------------------------------------------------------------------

DEVICE = """
class Device:
    def __init__(self):
        self.__cuda_array_interface__ = {
            "shape": (2,), "typestr": "<f8", "data": (4096, False), "strides": None, "version": 3
        }
    def get(self):
        return np.array([1.0, 2.0])
class InputSchema(BaseModel):
    x: int = 0
class OutputSchema(BaseModel):
    y: Array[(None,), "float64"]
    seen: Any = None
def apply(inputs):
    text = OutputSchema(y=Device()).model_dump_json(include={"y"})
    return {"y": Device(), "seen": text}
"""


def test_json_holds_a_copy_of_a_device_object(component: Any, monkeypatch: Any) -> None:
    opened = component(DEVICE)
    result = opened.call("apply", {"inputs": {}})
    assert type(result["y"]).__name__ == "Device"
    assert json.loads(result["seen"])["y"]["data"]["buffer"] == [1.0, 2.0]
    monkeypatch.setenv("TESSERACT_FORBID_DEVICE_HOST_COPY", "1")
    with pytest.raises(RuntimeError, match="TESSERACT_FORBID_DEVICE_HOST_COPY"):
        opened.call("apply", {"inputs": {}})
