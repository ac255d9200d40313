"""Objects in device memory in calls from Python, and the options that concern them.

Nothing here dereferences an address, so no device is needed.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import support
from pydantic import ValidationError
from tesseract_host import Tesseract
from tesseract_host.exceptions import EndpointError
from tesseract_host.loader import devices
from tesseract_host.runtime import _check

MODULE = """
import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float32
from tesseract_core.runtime.config import get_config

V = Differentiable[Array[(None,), Float32]]

class Inner(BaseModel):
    p: V

class InputSchema(BaseModel):
    x: V
    inner: Inner
    many: list[V]
    named: dict[str, V]
    way: str = "device"

class OutputSchema(BaseModel):
    y: V
    many: list[V]
    named: dict[str, V]
    transport: str

seen = []

def apply(inputs):
    seen[:] = [inputs.x, inputs.inner.p, *inputs.many, *inputs.named.values()]
    host = np.ones(4, "float32")
    results = {
        "y": inputs.x if inputs.way == "device" else host,
        "many": [host, *inputs.many],
        "named": {"there": inputs.inner.p, "here": host},
        "transport": get_config().gpu_transport,
    }
    return OutputSchema(**results) if inputs.way == "instance" else results

def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    seen[:] = [inputs.x, *tangent_vector.values()]
    return {"y": tangent_vector["x"], "named.{here}": np.zeros(4, "float32")}

def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    seen[:] = [inputs.x, *cotangent_vector.values()]
    return {"x": cotangent_vector["y"], "inner.p": np.zeros(4, "float32")}

def jacobian(inputs, jac_inputs, jac_outputs):
    seen[:] = [inputs.x]
    block = inputs.way if not isinstance(inputs.way, str) else blocks[0]
    return {"y": {"x": block, "inner.p": np.zeros((4, 4), "float32")}}

blocks = []
"""


class Device:
    """An array in device memory, as far as its interface says, and nothing else."""

    def __init__(self, shape: Any = (4,), typestr: Any = "<f4", **others: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (4096, False),
            "version": 3,
            **others,
        }


class Dlpack:
    """One that only DLPack knows where it is."""

    shape = (4,)
    dtype = np.dtype("float32")

    def __init__(self, kind: int = 2) -> None:
        self.kind = kind

    def __dlpack__(self, **_keywords: Any) -> Any:
        raise AssertionError("nothing is imported")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0


@pytest.fixture(params=["none", "cuda_ipc"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path = support.write(tmp_path / "devices", MODULE)
    return Tesseract.from_tesseract_api(path, gpu_transport=request.param)


def module(opened: Any) -> Any:
    return opened._client.component.module


def inputs(array: Any, **others: Any) -> dict[str, Any]:
    given = {"x": array, "inner": {"p": array}, "many": [array], "named": {"k": array}}
    return {**given, **others}


HOST = np.zeros(4, "float32")


@pytest.mark.parametrize("make", [Device, Dlpack, lambda: Dlpack(13)])
@pytest.mark.parametrize("way", ["device", "host", "instance"])
def test_the_module_gets_the_same_objects(opened: Any, make: Any, way: str) -> None:
    array = make()
    for _ in range(3):
        result = opened.apply(inputs(array, way=way))
        assert all(each is array for each in module(opened).seen)
        assert len(module(opened).seen) == 4
        assert result["many"][1] is array and result["named"]["there"] is array
        assert (result["y"] is array) == (way == "device")
        assert isinstance(result["many"][0], np.ndarray)
        assert isinstance(result["named"]["here"], np.ndarray)
        assert result["transport"] == opened.resolve_gpu_transport()


@pytest.mark.parametrize("make", [Device, Dlpack])
def test_so_do_derivatives(opened: Any, make: Any) -> None:
    array, seed = make(), make()
    point = inputs(array)
    for _ in range(3):
        found = opened.jacobian_vector_product(point, ["x"], ["y", "named.{here}"], {"x": seed})
        assert module(opened).seen[0] is array and module(opened).seen[1] is seed
        assert found["y"] is seed and isinstance(found["named.{here}"], np.ndarray)
        found = opened.vector_jacobian_product(point, ["x", "inner.p"], ["y"], {"y": seed})
        assert module(opened).seen[0] is array and module(opened).seen[1] is seed
        assert found["x"] is seed and isinstance(found["inner.p"], np.ndarray)
        block = Device((4, 4))
        module(opened).blocks[:] = [block]
        found = opened.jacobian(point, ["x", "inner.p"], ["y"])
        assert found["y"]["x"] is block and isinstance(found["y"]["inner.p"], np.ndarray)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (Device((3, 1, 1)), "shape"),
        (Device((4,), "<f8"), "dtype"),
        (Device((4,), "|S4"), "dtype"),
        (Device((4,), None), "dtype"),
        (Device(None), "shape"),
        (Device((4.5,)), "shape"),
        (Device((4,), "nonsense"), "typestr"),
        (SimpleNamespace(__cuda_array_interface__=None), "shape"),
        (SimpleNamespace(__cuda_array_interface__={}), "shape"),
    ],
)
def test_shape_and_dtype_must_be_exact(opened: Any, array: Any, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        opened.apply(inputs(array))
    module(opened).blocks[:] = [array]
    if reason != "dtype" or array.__cuda_array_interface__["typestr"] == "|S4":
        with pytest.raises(EndpointError):
            opened.jacobian(inputs(HOST), ["x", "inner.p"], ["y"])


def test_the_error_says_that_nothing_is_converted_there(opened: Any) -> None:
    with pytest.raises(ValidationError, match=r"'float32', got 'int32': .* are not converted"):
        opened.apply(inputs(Device((4,), "<i4")))


def test_a_tangent_has_the_shape_of_the_given_input(opened: Any) -> None:
    with pytest.raises(ValidationError, match=r"\(5,\)"):
        opened.jacobian_vector_product(inputs(Device()), ["x"], ["y"], {"x": Device((5,))})
    with pytest.raises(ValidationError, match=r"\(5,\)"):
        opened.jacobian_vector_product(inputs(HOST), ["x"], ["y"], {"x": Device((5,))})


def test_dlpack_on_the_host_is_no_device() -> None:
    assert not _check.is_device_object(Dlpack(1))
    assert not _check.is_device_object(np.zeros(3)) and not _check.is_device_object(np.float32(1))
    assert not _check.is_device_object(Device)  # a class
    assert _check.is_device_object(Device()) and _check.is_device_object(Dlpack())
    assert _check.shape_of(Device((2, 3))) == (2, 3)


# ---- Options -----------------------------------------------------------------------------------


def test_options_go_to_the_component(tmp_path: Path) -> None:
    path = support.write(tmp_path / "options", MODULE)
    plain = Tesseract.from_tesseract_api(path, gpu_transport="cuda_ipc")
    found = plain._client.component.devices
    assert (found.stream_ordered, found.read_only, found.escapes_are_errors) == (False, False, True)
    assert plain._client.description["devices"] == ["cpu", "cuda"]
    assert plain._client.description["stream_ordered"] is False
    fast = Tesseract.from_tesseract_api(
        path,
        runtime_config={"gpu_transport": "cuda_ipc"},
        stream_ordered=True,
        device_read_only=True,
        device_escapes="warning",
    )
    found = fast._client.component.devices
    assert (found.stream_ordered, found.read_only, found.escapes_are_errors) == (True, True, False)
    assert fast._client.description["stream_ordered"] is True
    none = Tesseract.from_tesseract_api(path)
    assert none._client.description["devices"] == ["cpu"]


@pytest.mark.parametrize(
    "options",
    [
        {"stream_ordered": True},
        {"device_read_only": True},
        {"device_escapes": "warning"},
        {"gpu_transport": "cuda_ipc", "stream_ordered": "yes"},
        {"gpu_transport": "cuda_ipc", "device_escapes": "never"},
    ],
)
def test_bad_options(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=next(n for n in options if n != "gpu_transport")):
        Tesseract.from_tesseract_api(support.write(tmp_path / "bad", MODULE), **options)


# ---- Streams of libraries ----------------------------------------------------------------------


def library(name: str, current: list[Any], available: bool = True) -> ModuleType:
    """As much of CuPy or torch as `enter_stream` needs."""

    @contextlib.contextmanager
    def entered(stream: int) -> Any:
        current.append((name, stream))
        yield
        current.remove((name, stream))

    made = ModuleType(name)
    made.cuda = SimpleNamespace(is_available=lambda: available)  # type: ignore[attr-defined]
    if name == "cupy":
        made.cuda.ExternalStream = entered
    else:
        made.cuda.ExternalStream = lambda stream: stream
        made.cuda.stream = entered
    return made


@pytest.mark.parametrize(
    ("loaded", "imported", "current", "publishes"),
    [
        ((), (), (), True),
        (("cupy",), ("cupy",), ("cupy",), False),
        (("cupy",), ("cupy.cuda",), ("cupy",), False),
        (("torch",), ("torch",), ("torch",), False),
        (("cupy", "torch"), ("numpy", "cupy"), ("cupy", "torch"), False),
        (("cupy",), ("numba", "cupy"), ("cupy",), True),
        (("cupy",), (), ("cupy",), True),  # another's: the module may launch by itself
        (("torch",), ("helper",), ("torch",), True),
    ],
)
def test_the_calls_stream_is_the_libraries_current_one(
    monkeypatch: pytest.MonkeyPatch, loaded: Any, imported: Any, current: Any, publishes: bool
) -> None:
    entered: list[Any] = []
    for name in ("cupy", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in loaded:
        monkeypatch.setitem(sys.modules, name, library(name, entered))
    streams = devices.Streams(set(imported))
    for _ in range(2):
        leave, published = streams.enter(77)
        assert entered == [(name, 77) for name in current]
        assert published is publishes
        assert (leave is None) == (not loaded)
        if leave:
            leave()
        assert entered == []


def test_a_library_may_be_imported_by_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()
    streams = devices.Streams(names)
    for name in ("cupy", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert streams.enter(77) == (None, True)
    monkeypatch.setitem(sys.modules, "cupy", library("cupy", []))
    assert streams.enter(77)[1] is True
    names.add("cupy")
    assert streams.enter(77)[1] is False


def test_torch_knows_the_legacy_stream_by_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[Any] = []
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setitem(sys.modules, "torch", library("torch", entered))
    devices.Streams({"torch"}).enter(1)
    assert entered == [("torch", 0)]


def test_a_library_without_a_device_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setitem(sys.modules, "torch", library("torch", [], available=False))
    assert devices.Streams({"torch"}).enter(77)[1] is True
