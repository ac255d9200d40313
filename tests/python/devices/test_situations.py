"""Each row of the table that docs/devices.md begins with, on the fake driver, from C and Python.

A test's docstring begins with the first words of its row.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import c_calls
import fake_cuda
import native
import numpy as np
import pytest
from c_calls import PreparedCall
from given_arrays import VALUES, seen
from tesseract_host import Tesseract
from tesseract_host.exceptions import EndpointError, InputError

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
MODULE = ROOT / "tests/python_loader/modules/devices/tesseract_api.py"  # y = 2 x, and what it saw
MIXED = HERE / "modules/mixed/tesseract_api.py"  # results on both sides
DIRECT = {"loader": "python", "gpu_transport": "cuda_ipc"}
DOUBLED = [2.0, 4.0, 6.0]
TO_HOST = (1, 0, 0)  # copies to the host, to the device, within the device
TO_DEVICE = (0, 1, 0)
WITHIN = (0, 0, 1)
NONE = (0, 0, 0)


class Counted:
    """What the fake driver has been asked for since, and what a component's statistics say."""

    def __init__(self, fake: fake_cuda.FakeCuda, component: Any) -> None:
        self.fake, self.host = fake, host_of(component)
        self.before, self.statistics = fake.state(), self.host.statistics()
        fake.reset_calls()

    @property
    def copies(self) -> tuple[int, int, int]:
        """Between host and device as the driver has made them: TO_HOST, TO_DEVICE, WITHIN."""
        pairs = zip(self.fake.state().copies, self.before.copies, strict=True)
        to_device, to_host, within, of_any_kind = (after - before for after, before in pairs)
        assert of_any_kind == 0
        return to_host, to_device, within

    @property
    def waits(self) -> int:
        return int(self.fake.state().host_waits - self.before.host_waits)

    @property
    def allocations(self) -> int:
        return int(self.fake.state().device_allocations - self.before.device_allocations)

    def counted(self, name: str = "device_copies") -> int:
        """As the component's statistics have it."""
        return int(self.host.statistics()[name] - self.statistics[name])


def host_of(component: Any) -> Any:
    return component._client.host()


@pytest.fixture
def fake(fake: fake_cuda.FakeCuda) -> fake_cuda.FakeCuda:
    """For components that the host opens."""
    native.need_binding()
    return fake


@pytest.fixture
def x(fake: fake_cuda.FakeCuda) -> Iterator[fake_cuda.DeviceArray]:
    array = fake.array(VALUES)
    yield array
    array.free()


@pytest.fixture
def y(fake: fake_cuda.FakeCuda) -> Iterator[fake_cuda.DeviceArray]:
    """A destination."""
    array = fake.array(np.zeros(3))
    yield array
    array.free()


@pytest.fixture
def stream(fake: fake_cuda.FakeCuda) -> Iterator[int]:
    made = fake.stream(blocking=False)
    yield made
    fake.synchronize(made)
    fake.destroy_stream(made)


def values(fake: fake_cuda.FakeCuda, array: Any) -> Any:
    """What is in an array on either side when all work is done."""
    if isinstance(array, np.ndarray):
        return array.tolist()
    fake.pump_all()
    return array.values().tolist()


def address(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])


# ---- Native components that take device arrays -------------------------------------------------


def test_native_from_c(fake, x, y, stream):
    """a native component …: device tensors where they are, the stream, nothing of the host's."""
    component = native.opened("on_device")
    call = PreparedCall(host_of(component), {"x": x}, {"y": y})
    call.run([x], [y], stream)
    for flags, calls in ((0, 2), (c_calls.CONTEXT_CURRENT, 0)):
        counted = Counted(fake, component)
        call.run([x], [y], stream, flags)
        assert fake.calls() == calls, fake.trace()
        now = seen()
        assert (now.in_, now.out, now.stream) == (x.pointer, y.pointer, stream)
        assert (now.in_type, now.out_type) == (c_calls.CUDA, c_calls.CUDA)
        assert (counted.copies, counted.waits, counted.allocations) == (NONE, 0, 0)
        assert (counted.counted(), counted.counted("calls")) == (0, 1)
        assert fake.state().pending > 0, "nobody waited"
    assert values(fake, y) == DOUBLED


def test_native_derivatives_from_c(fake, x, y, stream):
    """a native component …: derivatives likewise."""
    component = native.opened("on_device")
    seed = fake.array([1.0, 0.5, 0.25])
    call = PreparedCall(host_of(component), {"x": x}, {"y": seed}, {"x": y})
    counted = Counted(fake, component)
    call.run([x, seed], [y], stream)
    assert (seen().in_, seen().out, seen().stream) == (seed.pointer, y.pointer, stream)
    assert (counted.copies, counted.waits, counted.counted()) == (NONE, 0, 0)
    assert values(fake, y) == [2, 1, 0.5]
    seed.free()


def test_native_from_python(fake, x, stream):
    """a native component …: an object on the device gives its memory and its stream."""
    component = native.opened("on_device")
    assert component.resolve_gpu_transport() == "cuda_ipc"
    x.stream = stream
    for _ in range(2):
        counted = Counted(fake, component)
        result = component.apply({"x": x})["y"]
        assert (seen().in_, seen().stream, seen().out) == (x.pointer, stream, address(result))
        assert (counted.copies, counted.waits, counted.counted()) == (NONE, 0, 0)
        assert result.get().tolist() == DOUBLED
        del result  # whose memory is freed, for which the device is waited for


# ---- Python modules that take device arrays ----------------------------------------------------


def test_module_from_c(fake, x, y, stream):
    """a Python module opened with …: it gets the caller's memory, waited for once before it."""
    component = Tesseract.from_library(MODULE, options=DIRECT)
    call = PreparedCall(host_of(component), {"x": x}, {"y": y}, json='{"way": "input"}')
    for _ in range(3):  # at first, then by the short way
        fake.launch_scale(stream, x.pointer, x.pointer, 3, 1.0)  # pending
        counted = Counted(fake, component)
        call.run([x], [y], stream)
        # Its input, returned, is copied to where it is wanted, and that is the only copy.
        assert (counted.copies, counted.counted()) == (WITHIN, 1)
        assert fake.calls("cuStreamSynchronize") <= 2
        assert values(fake, y) == VALUES.tolist()
    look = component.apply({"x": x})["seen"]
    assert (look["kind"], look["pointer"]) == ("DeviceArray", x.pointer)


def test_module_in_stream_order_from_c(fake, x, y, stream):
    """a Python module opened with …: with stream_ordered nothing is waited for."""
    component = Tesseract.from_library(MODULE, options={**DIRECT, "stream_ordered": True})
    call = PreparedCall(host_of(component), {"x": x}, {"y": y}, json='{"way": "input"}')
    for _ in range(2):
        call.run([x], [y], stream)
    fake.launch_scale(stream, x.pointer, x.pointer, 3, 10.0)  # pending
    counted = Counted(fake, component)
    call.run([x], [y], stream)
    assert (counted.copies, counted.waits) == (WITHIN, 0)
    assert values(fake, y) == [10, 20, 30]


def test_arrays_are_valid_during_the_call(fake, x):
    """a Python module opened with …: what it keeps is an error that names it, and is dead."""
    component = Tesseract.from_library(MODULE, options=DIRECT)
    with pytest.raises(EndpointError, match=r'apply.*"x"'):
        component.apply({"x": x, "way": "keep"})
    look = component.apply({"x": np.zeros(1), "way": "ask kept"})["seen"]
    assert look["error"] == "RevokedArrayError" and look["text"]
    component.apply({"x": x, "way": "forget"})


def test_module_of_a_client_from_c(fake, x, y, stream):
    """a Python module opened with …: the same, opened in Python and called by its C interface."""
    tesseract = Tesseract.from_tesseract_api(MODULE, gpu_transport="cuda_ipc")
    assert tesseract.resolve_gpu_transport() == "cuda_ipc"
    call = PreparedCall(host_of(tesseract), {"x": x}, {"y": y}, json='{"way": "device"}')
    counted = Counted(fake, tesseract)
    call.run([x], [y], stream)
    assert (counted.copies, values(fake, y)) == (WITHIN, DOUBLED)
    _, document = host_of(tesseract).apply({"x": x})
    assert f'"pointer":{x.pointer}' in document and '"kind":"DeviceArray"' in document


def test_module_derivatives_from_c(fake, x, y, stream):
    """a Python module opened with …: cotangents are seen where they are, too."""
    component = Tesseract.from_library(MODULE, options=DIRECT)
    seed = fake.array([1.0, 0.5, 0.25])
    call = PreparedCall(host_of(component), {"x": x}, {"y": seed}, {"x": y})
    for _ in range(3):
        counted = Counted(fake, component)
        call.run([x, seed], [y], stream)
        assert (counted.copies, counted.counted()) == (WITHIN, 1)
        assert values(fake, y) == [2, 1, 0.5]
    seed.free()


# ---- Python modules called from Python ---------------------------------------------------------


class Sized(fake_cuda.DeviceArray):
    """An object of a library's, as modules use such: it knows its size."""

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


@pytest.mark.parametrize("transport", ["none", "cuda_ipc"])
def test_objects_reach_a_module_as_they_are(fake, x, transport):
    """a Python module, called from Python …: it gets the same object, and nothing is done."""
    tesseract = Tesseract.from_tesseract_api(MODULE, gpu_transport=transport)
    module = tesseract._client.component.module
    given = Sized(fake, x.pointer, (3,), "f8")
    module.last.append(given)
    for one in (tesseract, tesseract.with_encoding(gpu_transport="none")):
        before = list(fake.state().copies)
        fake.reset_calls()
        result = one.apply({"x": given, "way": "input"})
        assert result["y"] is given
        assert fake.calls() == 0 and list(fake.state().copies) == before
        gradient = one.vector_jacobian_product(
            {"x": given, "way": "input"}, ["x"], ["y"], {"y": given}
        )
        assert gradient["x"] is given
    seed = Sized(fake, x.pointer, (3,), "f4")
    with pytest.raises(ValueError, match="float32"):
        tesseract.apply({"x": seed})
    with pytest.raises(ValueError, match="x"):
        tesseract.apply({"x": Sized(fake, x.pointer, (3, 1), "f8")})


# ---- Staging -----------------------------------------------------------------------------------


def test_staging_of_a_native_component_from_c(fake, x, y, stream):
    """any other component …: one copy per array and direction, one wait, counted."""
    component = native.opened("square")
    a, two = fake.array(2.0), np.array(2.0)
    for number, copies in ((a, (2, 1, 0)), (two, (1, 1, 0))):
        call = PreparedCall(host_of(component), {"x": x, "a": number}, {"y": y})
        for _ in range(2):
            counted = Counted(fake, component)
            call.run([x, number], [y], stream)
            assert (counted.copies, counted.waits) == (copies, 1)
            assert counted.counted() == sum(copies)
            assert counted.counted("device_bytes") == 48 + 8 * (number is a)
            assert values(fake, y) == [2, 8, 18]
    a.free()


def test_staging_to_the_host_from_c(fake, x, stream):
    """any other component …: a result that is wanted on the host isn't copied."""
    component = native.opened("square")
    on_host = np.zeros(3)
    call = PreparedCall(host_of(component), {"x": x}, {"y": on_host})
    counted = Counted(fake, component)
    call.run([x], [on_host], stream)
    assert (counted.copies, counted.counted(), counted.waits) == (TO_HOST, 1, 1)
    assert on_host.tolist() == [1, 4, 9]


@pytest.mark.parametrize("opener", ["from C", "from Python"])
def test_staging_of_a_module_from_c(fake, x, y, stream, opener):
    """any other component …: a module that wasn't opened for them gets NumPy arrays."""
    if opener == "from C":
        component = Tesseract.from_library(MODULE, options={"loader": "python"})
    else:
        component = Tesseract.from_tesseract_api(MODULE)
    assert component.resolve_gpu_transport() == "none"
    call = PreparedCall(host_of(component), {"x": x}, {"y": y}, json='{"way": "device"}')
    for _ in range(3):
        counted = Counted(fake, component)
        call.run([x], [y], stream)
        assert (counted.copies, counted.waits) == ((1, 1, 0), 1)
        assert (counted.counted(), counted.counted("device_bytes")) == (2, 48)
        assert values(fake, y) == DOUBLED
    outputs, document = host_of(component).apply({"x": x})
    assert document == '{"seen":{"kind":"host"}}'
    assert outputs["y"].tolist() == DOUBLED


def test_staging_from_python(fake, x):
    """any other component …: from Python results are NumPy arrays."""
    square = native.opened("square")
    module = Tesseract.from_library(MODULE, options={"loader": "python"})
    for component, expected in ((square, [1, 4, 9]), (module, DOUBLED)):
        for _ in range(2):
            counted = Counted(fake, component)
            result = component.apply({"x": x})["y"]
            assert type(result) is np.ndarray and result.tolist() == expected
            assert (counted.copies, counted.counted(), counted.waits) == (TO_HOST, 1, 1)


# ---- Views that stage --------------------------------------------------------------------------


def test_a_view_of_a_native_component(fake, x, y, stream):
    """from Python a view …: a native one gets host arrays; in C by TESSERACT_STAGED."""
    component = native.opened("on_device")
    view = component.with_encoding(gpu_transport="none")
    for _ in range(2):
        counted = Counted(fake, component)
        result = view.apply({"x": x})["y"]
        assert type(result) is np.ndarray and result.tolist() == DOUBLED
        assert (seen().in_type, seen().out_type) == (c_calls.CPU, c_calls.CPU)
        assert (counted.copies, counted.counted()) == (TO_HOST, 1)
    call = PreparedCall(host_of(component), {"x": x}, {"y": y}, flags=c_calls.STAGED)
    counted = Counted(fake, component)
    call.run([x], [y], stream)
    assert (counted.copies, counted.counted()) == ((1, 1, 0), 2)
    assert (seen().in_type, seen().out_type) == (c_calls.CPU, c_calls.CPU)
    assert values(fake, y) == DOUBLED
    assert address(component.apply({"x": x})["y"]), "the component itself doesn't"


def test_a_view_of_a_module(fake, x, y, stream):
    """from Python a view …: a module gets NumPy arrays; in C by TESSERACT_STAGED."""
    component = Tesseract.from_library(MODULE, options=DIRECT)
    view = component.with_encoding(gpu_transport="none")
    assert (view.resolve_gpu_transport(), component.resolve_gpu_transport()) == ("none", "cuda_ipc")
    for _ in range(2):
        counted = Counted(fake, component)
        result = view.apply({"x": x})
        assert result["seen"] == {"kind": "host"} and result["y"].tolist() == DOUBLED
        assert (counted.copies, counted.counted()) == (TO_HOST, 1)
    json = '{"way": "device"}'
    call = PreparedCall(host_of(component), {"x": x}, {"y": y}, json=json, flags=c_calls.STAGED)
    for _ in range(2):
        counted = Counted(fake, component)
        call.run([x], [y], stream)
        assert (counted.copies, counted.counted()) == ((1, 1, 0), 2)
        assert values(fake, y) == DOUBLED
    assert component.apply({"x": x})["seen"]["kind"] == "DeviceArray"


# ---- Results -----------------------------------------------------------------------------------

# Where the module's results are, by path, and what they are for x = VALUES.
RESULTS = {
    "given": ("device", [1, 2, 3]),
    "both.made": ("device", DOUBLED),
    "both.here": ("host", [3, 3, 3]),
    "listed.[0]": ("host", [4, 4, 4]),
    "listed.[1]": ("device", [5, 10, 15]),
}


@pytest.mark.parametrize("wanted", list(itertools.product(["host", "device"], repeat=2)))
def test_results_go_where_they_are_wanted(fake, x, stream, wanted):
    """results of a Python module …: each is copied to where a C caller wants it, once."""
    component = Tesseract.from_library(MIXED, options=DIRECT)
    places = dict(zip(RESULTS, itertools.cycle(wanted), strict=False))
    of = {
        path: np.zeros(3) if place == "host" else fake.array(np.zeros(3))
        for path, place in places.items()
    }
    a = np.zeros(3)
    call = PreparedCall(host_of(component), {"x": x, "a": a}, of)
    there = [(RESULTS[path][0], place) for path, place in places.items()]
    kinds = [("device", "host"), ("host", "device"), ("device", "device")]
    for _ in range(3):
        counted = Counted(fake, component)
        call.run([x, a], list(of.values()), stream)
        assert counted.copies == tuple(there.count(kind) for kind in kinds)
        assert counted.counted() == sum(counted.copies)
        # Before the module; for each copy between host and device; for those within it, once.
        waits = 1 + sum(counted.copies[:2]) + (counted.copies[2] > 0)
        assert fake.calls("cuStreamSynchronize") == waits
        for path, array in of.items():
            assert values(fake, array) == RESULTS[path][1], path
    for array in of.values():
        if not isinstance(array, np.ndarray):
            array.free()


def test_gradients_go_where_they_are_wanted(fake, x, y, stream):
    """results of a Python module …: gradients likewise, one from either side."""
    component = Tesseract.from_library(MIXED, options=DIRECT)
    a, by_a, seed = np.zeros(3), fake.array(VALUES), fake.array(VALUES)
    inputs, of, wrt = {"x": x, "a": a}, {"both.made": seed}, {"x": y, "a": by_a}
    call = PreparedCall(host_of(component), inputs, of, wrt)
    for _ in range(3):
        counted = Counted(fake, component)
        call.run([x, a, seed], [y, by_a], stream)
        assert (counted.copies, counted.counted()) == ((0, 1, 1), 2)
        assert (values(fake, y), values(fake, by_a)) == (DOUBLED, [0, 0, 0])
    by_a.free()
    seed.free()


def test_mixed_results_from_python(fake, x):
    """results of a Python module …: a Python caller has them as they are, or on the device."""
    given = {"x": x, "a": np.zeros(3)}
    result = Tesseract.from_tesseract_api(MIXED, gpu_transport="cuda_ipc").apply(given)
    assert result["given"] is x
    assert type(result["both"]["made"]).__name__ == "Made"
    assert type(result["both"]["here"]) is np.ndarray
    assert [type(each).__name__ for each in result["listed"]] == ["ndarray", "Made"]
    fake.pump_all()  # it is the module's memory
    del result
    gc.collect()
    result = Tesseract.from_library(MIXED, options=DIRECT).apply(given)
    both = result["both"]
    for array, path in ((result["given"], "given"), *((both[k], f"both.{k}") for k in both)):
        assert array.__dlpack_device__() == (c_calls.CUDA, 0)
        assert array.get().tolist() == RESULTS[path][1]


# ---- Host arrays -------------------------------------------------------------------------------


def test_host_arrays_of_a_native_component(fake, x, y, stream):
    """host arrays …: stay on the host, alone and beside others; the driver isn't asked."""
    component = native.opened("on_device")
    counted = Counted(fake, component)
    on_host = np.zeros(3)
    call = PreparedCall(host_of(component), {"x": VALUES}, {"y": on_host})
    call.run([VALUES], [on_host], 0)
    assert on_host.tolist() == DOUBLED == component.apply({"x": VALUES})["y"].tolist()
    assert (seen().in_, seen().in_type) == (VALUES.ctypes.data, c_calls.CPU)
    assert (fake.calls(), counted.counted()) == (0, 0)
    call = PreparedCall(host_of(component), {"x": x, "beside": VALUES}, {"y": y})
    call.run([x, VALUES], [y], stream)
    assert (seen().in_type, seen().beside_type) == (c_calls.CUDA, c_calls.CPU)
    assert (counted.copies, counted.counted()) == (NONE, 0)


def test_host_arrays_of_a_module(fake, x):
    """host arrays …: a module gets NumPy arrays, alone and beside others."""
    component = Tesseract.from_library(MIXED, options=DIRECT)
    tesseract = Tesseract.from_tesseract_api(MIXED, gpu_transport="cuda_ipc")
    counted = Counted(fake, component)
    for opened in (component, tesseract):
        fake.reset_calls()
        look = opened.apply({"x": VALUES, "a": VALUES})["seen"]
        assert [look["x"][0], look["a"][0]] == ["ndarray", "ndarray"]
        assert (fake.calls(), counted.copies) == (0, NONE)
    for _ in range(2):
        look = component.apply({"x": x, "a": VALUES})["seen"]
        assert look["x"] == ["DeviceArray", x.pointer]
        assert look["a"][0] == "ndarray"
    # The host results go to the device, where such a caller wants them; no input does.
    assert counted.copies == (0, 4, 6)


# ---- Derived endpoints ------------------------------------------------------------------------


def test_derived_endpoints(fake, x):
    """an endpoint that the host derives …: by way of the host, the result on the device again."""
    component = Tesseract.from_library(native.plugin("products_on_device"), derive=True)
    counted = Counted(fake, component)
    block = component.jacobian({"x": x}, ["x"], ["y"])["y"]["x"]
    assert np.array_equal(block.get(), 2 * np.eye(3))
    assert (counted.copies[1], counted.counted()) == (1, 2)


# ---- Copies that are forbidden -----------------------------------------------------------------


def forbidden(call: Any, path: str) -> None:
    with pytest.raises(c_calls.Failed, match=rf'"{path}".*(copies are forbidden|forbids)') as error:
        call()
    assert error.value.status == c_calls.DEVICE


def test_forbidden_copies_of_arguments_in_c(fake, x, y, stream):
    """copies are forbidden …: refused at prepare, or at a run that says so, by name."""
    for component in (
        host_of(native.opened("square")),
        host_of(Tesseract.from_library(MODULE, options={"loader": "python"})),
    ):
        forbidden(
            lambda: PreparedCall(component, {"x": x}, {"y": y}, flags=c_calls.NO_COPY),  # noqa: B023
            "x",
        )
        call = PreparedCall(component, {"x": x}, {"y": y})
        call.run([x], [y], stream)
        forbidden(lambda: call.run([x], [y], stream, c_calls.NO_COPY), "x")  # noqa: B023


@pytest.mark.parametrize("by", ["signature", "call"])
def test_forbidden_copies_of_results_in_c(fake, x, y, stream, by):
    """copies are forbidden …: a result on the wrong side is refused by name, either way."""
    component = host_of(Tesseract.from_library(MODULE, options=DIRECT))
    flags = (c_calls.NO_COPY, 0) if by == "signature" else (0, c_calls.NO_COPY)
    on_host = np.zeros(3)
    for way, wanted in (("host", y), ("device", on_host)):
        json = f'{{"way": "{way}"}}'
        call = PreparedCall(component, {"x": x}, {"y": wanted}, json=json, flags=flags[0])
        for _ in range(3):
            forbidden(lambda: call.run([x], [wanted], stream, flags[1]), "y")  # noqa: B023
    call = PreparedCall(component, {"x": x}, {"y": y}, json='{"way": "device"}', flags=flags[0])
    call.run([x], [y], stream, flags[1])
    assert values(fake, y) == DOUBLED


def test_forbidden_copies_in_python(fake, x):
    """copies are forbidden …: an InputError whose path is the argument's; direct calls go on."""
    for component in (
        native.opened("square"),
        Tesseract.from_library(MODULE, options={"loader": "python"}),
        native.opened("on_device").with_encoding(gpu_transport="none"),
        Tesseract.from_library(MODULE, options=DIRECT).with_encoding(gpu_transport="none"),
    ):
        counted = Counted(fake, component)
        with pytest.raises(InputError, match=r'"x".*copies are forbidden') as error:
            component.with_calls(allow_copy=False).apply({"x": x})
        assert error.value.path == "x" and counted.copies == NONE
    for component in (native.opened("on_device"), Tesseract.from_library(MODULE, options=DIRECT)):
        result = component.with_calls(allow_copy=False).apply({"x": x})["y"]
        assert result.get().tolist() == DOUBLED


# ---- Without a device --------------------------------------------------------------------------

NO_DEVICE = """
import sys
import numpy as np
import c_calls, native
from tesseract_host import Tesseract
from tesseract_host.exceptions import InputError

class Array:
    shape, size, pointer = (3,), 3, 4096
    __cuda_array_interface__ = {
        "version": 3, "shape": (3,), "typestr": "<f8", "data": (4096, False), "stream": 5}

module, *lines = sys.argv[1:]
x, y = np.ones(3), np.zeros(3)
direct = {"loader": "python", "gpu_transport": "cuda_ipc"}
components = {
    "native": native.opened("on_device"),
    "staged": native.opened("square"),
    "module": Tesseract.from_library(module, options=direct),
    "client": Tesseract.from_tesseract_api(module, gpu_transport="cuda_ipc"),
}
for round in range(2):
    for name, component in components.items():
        host = component._client.host()
        assert component.apply({"x": x})["y"].sum() > 0
        c_calls.PreparedCall(host, {"x": x}, {"y": y}).run([x], [y], 0)
        assert y.sum() > 0
        try:
            call = c_calls.PreparedCall(host, {"x": Array()}, {"y": Array()})
            call.run([Array()], [Array()], 5)
        except c_calls.Failed as error:
            assert error.status == c_calls.UNAVAILABLE, (error.status, error)
            print(name, error)
        if name != "client":
            try:
                component.apply({"x": Array()})
            except RuntimeError as error:
                print(name, error)
"""


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"TESSERACT_HOST_CUDA_DRIVER": "/none/libcuda.so.1"}, "/none/libcuda.so.1"),
        ({"FAKE_CUDA_DEVICES": "0"}, "there is no device"),
        ({"FAKE_CUDA_DRIVER_VERSION": "10020"}, r"10\.2"),
    ],
    ids=["no driver", "no GPU", "an old driver"],
)
def test_without_a_device(driver, tmp_path, variables, reason):
    """device arrays where there is no GPU …: "unavailable" with the reason; host arrays work."""
    native.plugin("on_device")
    module = tmp_path / "tesseract_api.py"
    module.write_text((ROOT / "tests/jax/modules/noop.py").read_text())
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", NO_DEVICE, str(module)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    names = ["native", "native", "staged", "staged", "module", "module", "client"]
    assert [line.split()[0] for line in lines] == names * 2
    for line in lines:
        assert re.search(reason, line), line


# ---- JAX on the CPU ----------------------------------------------------------------------------

ON_CPU = """
import ctypes, os, sys
import numpy as np
import jax, jax.numpy as jnp
import native
from tesseract_host import Tesseract
from tesseract_host.jax import apply_tesseract

def libraries():
    return [line.split()[-1] for line in open("/proc/self/maps") if "libcuda" in line]

module = sys.argv[1]
direct = native.opened("on_device")
for component in (
    direct,
    native.opened("square"),
    Tesseract.from_tesseract_api(module),
    Tesseract.from_tesseract_api(module, gpu_transport="cuda_ipc"),
):
    f = lambda x: apply_tesseract(component, {"x": x})["y"].sum()
    x = jnp.arange(3.0)
    jax.block_until_ready((f(x), jax.jit(f)(x), jax.jit(jax.value_and_grad(f))(x)))
    jax.block_until_ready(jax.jit(jax.vmap(f))(jnp.ones((2, 3))))
assert libraries() == [], libraries()
driver = ctypes.CDLL(os.environ["TESSERACT_HOST_CUDA_DRIVER"])
driver.fake_cuda_calls.restype = ctypes.c_int64
assert driver.fake_cuda_calls(None) == 0
assert libraries() != [], "it would have been seen"
"""


def test_jax_on_the_cpu(driver, tmp_path):
    """a JAX program on the CPU …: the driver's library isn't opened, no function of it called."""
    pytest.importorskip("jax", reason="jax is not installed")
    native.plugin("on_device")
    module = tmp_path / "tesseract_api.py"
    module.write_text((ROOT / "tests/jax/modules/noop.py").read_text())
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", ON_CPU, str(module)],
        env={**os.environ, **environment, "JAX_ENABLE_X64": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# ---- The table ---------------------------------------------------------------------------------


def test_every_row_of_the_table_has_a_test():
    lines = (ROOT / "docs/devices.md").read_text().split("|---|---|\n", 1)[1].splitlines()
    rows = [row.split("|")[1].strip() for row in itertools.takewhile(str.strip, lines)]
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    begins = {str(test.__doc__).split(" …: ")[0] for test in tests if test.__doc__}
    assert [row for row in rows if not row.startswith(tuple(begins))] == []
    assert [begin for begin in begins if sum(row.startswith(begin) for row in rows) != 1] == []
