"""The binding of host.h: what it refuses, and where it is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import native
import numpy as np
import pytest

X = np.arange(3.0)


@pytest.fixture
def host() -> Any:
    from tesseract_host import _host

    return _host.open(native.plugin("square"))


def test_calls_by_path(host: Any) -> None:
    from tesseract_host import _host

    at = {"x": X, "a": np.asarray(2.0)}
    arrays, document = host.apply(at)
    assert arrays["y"].tolist() == [0, 2, 8] and document == "{}"
    assert host.apply({"x": X}, '{"a": 2.0}', of=["y"])[0]["y"].tolist() == [0, 2, 8]
    assert host.jvp(at, {"x": np.ones(3)})["y"].tolist() == [0, 4, 8]
    assert host.vjp(at, {"y": np.ones(3)}, wrt=["a"]) == {"a": 5.0}
    assert host.jacobian(at)["y"]["a"].tolist() == [0, 1, 4]
    assert host.abstract_eval(at)[0] == {"y": {"shape": (3,), "dtype": "float64"}}
    containers = _host.open(native.plugin("containers"))
    given = {"xs.[0]": X, "xs.[1]": X, "params.{k}": np.asarray(2.0)}
    arrays, _ = containers.apply(given, of=["ys.[1]", "total"])
    assert list(arrays) == ["ys.[1]", "total"] and arrays["ys.[1]"].tolist() == [0, 2, 4]


def test_what_the_parts_refuse(host: Any) -> None:
    component = host._native
    for arguments in (
        (),
        (1, ("x",), (X,), "{}", None, None),
        (1, ["x"], (X,), "{}", None, None, ()),
        (1, ("x",), (X, X), "{}", None, None, ()),
        (1, ("x",), (X,), "{}", None, None, (X,)),
        (2, ("x",), (X,), "{}", None, ("x",), ()),
        (3, ("x",), (X,), "{}", ("y", "y"), None, (X,)),
        (2, ("x",), (X,), "{}", ("y",), None, ()),
        (1, ("x",), ([1.0],), "{}", None, None, ()),
        (1, ("x",), (X.astype("M8[s]"),), "{}", None, None, ()),
        (1, (3,), (X,), "{}", None, None, ()),
        ("1", ("x",), (X,), "{}", None, None, ()),
        (1, ("x",), (X,), b"{}", None, None, ()),
    ):
        with pytest.raises(TypeError):
            component.prepare(*arguments)
    for arguments in (
        (77, ("x",), (X,), "{}", None, None, ()),
        (0, ("x",), (X,), "{}", None, None, ()),
        (1, ("x",), (X,), "[]", None, None, ()),
        (1, ("x", "x"), (X, X), "{}", None, None, ()),
        (1, ("x",), (X,), "{}", (), ("x",), ()),
    ):
        with pytest.raises((ValueError, NotImplementedError)):
            component.prepare(*arguments)
    call = component.prepare(1, ("x",), (X,), "{}", None, None, ())
    for arrays in ((), (X, X), [X], None, ([1.0],)):
        with pytest.raises(TypeError):
            call.run(arrays)
    for array in (X.astype(np.float32), np.ones((2, 2)), np.asarray(1.0)):
        try:
            values = call.run((array,))[0]
        except ValueError:
            continue
        assert values[0].tolist() == (array * array).tolist()
    for pattern in ((), ("dict",), ("number", int), ("array", -1), (3, 4), "text"):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            call.remember(pattern, ("out", 0))
    with pytest.raises(TypeError):
        component.text("1")
    with pytest.raises(ValueError, match="no text 99"):
        component.text(99)


def test_types_are_made_by_the_module_alone() -> None:
    binding = native.need_binding()
    for type_ in (binding.Component, binding.Call):
        with pytest.raises(TypeError):
            type_()
    with pytest.raises(TypeError):
        binding.Endpoint()
    endpoint = binding.Endpoint(lambda endpoint, *given: given, None)
    assert endpoint(1, 2) == (1, 2)
    with pytest.raises(TypeError):
        endpoint(inputs=1)
    for call in (None, endpoint):
        with pytest.raises(TypeError):
            endpoint.remember(call)


PROGRAM = """
import ctypes, sys
sys.path.insert(0, {package!r})
first = ctypes.CDLL({library!r})
from tesseract_host import _host
_host.binding()
names = set()
for line in open("/proc/self/maps"):
    if "libtesseract_host" in line:
        names.add(line.split()[-1])
assert len(names) == 1, names
first.tesseract_host_version.restype = ctypes.c_char_p
assert first.tesseract_host_version().decode() == _host.binding().host_version
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_one_host_library_in_a_process() -> None:
    """A program that has loaded the library shares it with Python."""
    native.need_binding()
    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "libtesseract_host" in line)
    package = str(Path(__file__).parents[2] / "python")
    program = PROGRAM.format(package=package, library=library)
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_the_binding(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2] / 'python')!r})\n"
        "from tesseract_host import Tesseract, _native\n"
        "_native.candidates = lambda stem: []\n"
        "try:\n    Tesseract.from_library('x.so')\n"
        "except ImportError as error:\n    assert 'tesseract_binding' in str(error)\n"
        "else:\n    raise SystemExit('no error')\n"
    )
    env = {k: v for k, v in os.environ.items() if k != "TESSERACT_HOST_LOADER_PATH"}
    subprocess.run([sys.executable, "-c", program], check=True, env=env, cwd=tmp_path)
