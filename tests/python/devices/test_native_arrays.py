"""Arrays of other libraries in native components: on the host, and on the fake driver's devices."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import native
from fake_cuda import DeviceArray
from tesseract_host.exceptions import EndpointError, InputError

CPU, CUDA = 1, 2
VALUES = np.array([1.0, 2.0, 3.0])


class Seen(ctypes.Structure):
    """What the component was given last."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("in_", "out", "stream")),
        *((name, ctypes.c_int32) for name in ("in_type", "out_type", "in_number", "beside_type")),
    )


def seen() -> Seen:
    library = ctypes.CDLL(str(native.plugin("on_device")))
    library.on_device_seen.restype = ctypes.POINTER(Seen)
    return library.on_device_seen().contents


@pytest.fixture
def component(fake):
    """y = 2 x, on the device where x is."""
    return native.opened("on_device")


@pytest.fixture
def staged(fake):
    """y = a x², on the host."""
    return native.opened("square")


@pytest.fixture
def x(fake):
    array = fake.array(VALUES)
    yield array
    array.free()


@pytest.fixture
def there(driver, fake):
    """An array on device 1."""
    with driver.device(1):  # which would end, memory and all, with the last who has it
        array = driver.array(VALUES)
        with driver.device(0):
            yield array
        array.free()


@pytest.fixture
def stream(fake):
    made = fake.stream(blocking=False)
    yield made
    fake.synchronize(made)
    fake.destroy_stream(made)


class Interface:
    """An object with the interface that a test says, over a true one's."""

    def __init__(self, array: Any, without: tuple[str, ...] = (), **changes: Any) -> None:
        self.array = array
        self.interface = {**array.__cuda_array_interface__, **changes}
        for name in without:
            del self.interface[name]

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.interface


class ByDLPack:
    """A device array with DLPack alone, of which it tells who asked for it."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.streams: list[Any] = []

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        return self.owner.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()


def on_device(component: Any, array: Any) -> Any:
    """An object of the library's own, by a call."""
    return component.apply({"x": array})["y"]


# ---- Direct ------------------------------------------------------------------------------------


def test_device_memory_goes_in_and_comes_out_as_it_is(component, fake, x):
    for _ in range(3):  # prepared, then remembered
        before = fake.state()
        y = component.apply({"x": x})["y"]
        assert (seen().in_, seen().in_type, seen().out_type) == (x.pointer, CUDA, CUDA)
        interface = y.__cuda_array_interface__
        assert interface["data"] == (seen().out, False)
        assert interface["stream"] == 1 == seen().stream
        after = fake.state()
        assert list(after.copies) == list(before.copies)
        assert after.host_waits == before.host_waits
        assert after.device_allocations == before.device_allocations + 1
        assert (y.shape, y.dtype) == ((3,), np.float64)
        assert y.get().tolist() == [2, 4, 6]
        del y
    counts = component.statistics()
    assert (counts["device_copies"], counts["layout_copies"], counts["calls"]) == (0, 0, 3)
    assert component._client._callers["apply"].remembered == 1


def test_a_remembered_call_costs_few_driver_calls(component, fake, x):
    component.apply({"x": x})
    fake.reset_calls()
    y = component.apply({"x": x})["y"]
    called = fake.trace()
    # Three to look the address up, since the interface doesn't tell its device.
    assert called.count("cuPointerGetAttribute") == 3
    assert called.count("cuCtxPushCurrent") <= 2 and called.count("cuStreamSynchronize") == 0
    del y


def test_memory_is_freed_with_the_last_who_has_it(component, fake, x):
    before = fake.state().outstanding()
    y = component.apply({"x": x})["y"]
    capsule = y.__dlpack__(max_version=(1, 0))
    del y
    gc.collect()
    assert fake.state().device_allocations == before["device_allocations"] + 1
    del capsule
    assert fake.state().device_allocations == before["device_allocations"]


def test_numpy_does_not_copy_unasked(component, x):
    y = component.apply({"x": x})["y"]
    with pytest.raises(TypeError, match=r"\.get\(\)"):
        np.asarray(y)
    assert np.array(y, copy=True).tolist() == [2, 4, 6]
    assert y.get().tolist() == [2, 4, 6]


def test_results_go_in_again(component, fake, x):
    y = component.apply({"x": x})["y"]
    z = component.apply({"x": y})["y"]
    assert seen().in_ == y.__cuda_array_interface__["data"][0]
    assert z.get().tolist() == [4, 8, 12]
    assert list(fake.state().copies[2:]) == [0, 0]


def test_derivatives_too(component, fake, x):
    t = fake.array([1.0, 0.5, 0.25])
    for _ in range(2):
        dy = component.jacobian_vector_product({"x": x}, ["x"], ["y"], {"x": t})["y"]
        assert (seen().in_, seen().out_type) == (t.pointer, CUDA)
        assert dy.get().tolist() == [2, 1, 0.5]
        dx = component.vector_jacobian_product({"x": x}, ["x"], ["y"], {"y": t})["x"]
        assert (seen().in_, seen().out_type) == (t.pointer, CUDA)
        assert dx.get().tolist() == [2, 1, 0.5]
        rows = component.jacobian({"x": x}, ["x"], ["y"])
        assert np.array_equal(rows["y"]["x"].get(), 2 * np.eye(3))
    t.free()


def test_host_arrays_stay_on_the_host(component, fake, x):
    fake.reset_calls()
    y = component.apply({"x": VALUES})["y"]
    assert type(y) is np.ndarray and y.tolist() == [2, 4, 6]
    assert seen().in_ == VALUES.ctypes.data
    assert fake.calls() == 0
    y = component.apply({"x": x, "beside": VALUES})["y"]
    assert (seen().beside_type, seen().in_type) == (CPU, CUDA)
    assert y.get().tolist() == [2, 4, 6]


def test_calls_are_remembered_by_device(component, fake, x, there):
    for _ in range(2):
        for array, number in ((x, 0), (there, 1), (VALUES, 0)):
            y = component.apply({"x": array})["y"]
            assert (seen().in_number, seen().in_type) == (number, CPU if array is VALUES else CUDA)
            if array is not VALUES:
                assert y.__dlpack_device__() == (CUDA, number)
    assert component._client._callers["apply"].remembered == 3
    del y


def test_two_devices_in_one_call_are_refused(component, fake, x, there):
    with pytest.raises(InputError, match=r"device 1.*device 0") as error:
        component.apply({"x": x, "beside": there})
    assert error.value.path == "beside"


def test_empty_arrays(component, fake, x, there):
    empty = Interface(x, shape=(0,), data=(0, False))
    y = component.apply({"x": empty})["y"]
    assert y.shape == (0,) and y.get().tolist() == []
    y = component.apply({"x": there, "beside": empty})["y"]  # where the other is
    assert y.get().tolist() == [2, 4, 6]


def test_strides_are_followed(component, fake, x):
    wide = fake.array([1.0, 9.0, 2.0, 9.0, 3.0])
    every_other = DeviceArray(fake, wide.pointer, (3,), "f8", strides=(16,))
    for _ in range(2):
        assert component.apply({"x": every_other})["y"].get().tolist() == [2, 4, 6]
    assert component.statistics()["layout_copies"] == 2
    with pytest.raises(InputError, match=r"x.*copies are forbidden"):
        component.with_calls(allow_copy=False).apply({"x": every_other})
    wide.free()


def test_read_only_arrays_are_read(component, fake, x):
    view = DeviceArray(fake, x.pointer, (3,), "f8", read_only=True)
    assert component.apply({"x": view})["y"].get().tolist() == [2, 4, 6]


def test_abstract_evaluation_needs_no_device(component, x):
    assert component.abstract_eval({"x": x}) == {"y": {"shape": (3,), "dtype": "float64"}}


# ---- Streams -----------------------------------------------------------------------------------


def test_the_call_runs_on_the_stream_that_the_arrays_publish(component, fake, x, stream):
    x.stream = stream
    for _ in range(2):
        fake.launch_scale(stream, x.pointer, x.pointer, 3, 1.0)  # pending
        y = component.apply({"x": x})["y"]
        assert seen().stream == stream == y.__cuda_array_interface__["stream"]
        assert fake.state().pending > 0
        assert y.get().tolist() == [2, 4, 6]
        del y


def test_the_call_s_stream_waits_for_others(component, fake, x, stream):
    other = fake.stream(blocking=False)
    source = fake.array(VALUES)
    x.stream = stream
    fake.launch_scale(stream, x.pointer, source.pointer, 3, 10.0)
    for chosen in (other, 2, other):
        y = component.with_calls(stream=chosen).apply({"x": x})["y"]
        assert seen().stream == chosen
        assert y.get().tolist() == [20, 40, 60]
        del y
    assert len(component._client._ways) == 3
    beside = fake.array(VALUES)
    beside.stream = other
    y = component.apply({"x": x, "beside": beside})["y"]
    assert seen().stream == 1, "they don't agree"
    assert y.get().tolist() == [20, 40, 60]
    del y
    fake.synchronize(other)
    fake.destroy_stream(other)
    source.free()
    beside.free()


def test_without_a_stream_nothing_is_waited_for(component, fake, x, stream):
    component.apply({"x": x})
    fake.reset_calls()
    component.with_calls(stream=stream).apply({"x": x})
    assert fake.calls("cuStreamWaitEvent") == 0
    y = component.apply({"x": Interface(x, without=("stream",), version=2)})["y"]
    assert fake.calls("cuStreamWaitEvent") == 0
    del y


def test_dlpack_is_asked_for_the_call_s_stream(component, fake, x, stream):
    given = ByDLPack(on_device(component, x))
    y = component.apply({"x": given})["y"]
    assert given.streams == [1]
    y = component.apply({"x": given})["y"]  # remembered
    assert given.streams == [1, 1]
    assert seen().in_ == given.owner.__cuda_array_interface__["data"][0]
    y = component.with_calls(stream=stream).apply({"x": given})["y"]
    assert given.streams[2:] == [stream]
    assert seen().stream == stream and y.get().tolist() == [4, 8, 12]


def test_one_stream_for_both_protocols(component, fake, x, stream):
    given = ByDLPack(on_device(component, x))
    beside = fake.array(VALUES, stream=stream)
    y = component.apply({"x": given, "beside": beside})["y"]
    assert given.streams == [1] and seen().stream == stream
    assert y.get().tolist() == [4, 8, 12]
    beside.free()


def test_an_interface_without_streams_yields_to_dlpack(component, fake, x, stream):
    class Both(ByDLPack):
        @property
        def __cuda_array_interface__(self) -> Any:
            return Interface(self.owner, without=("stream",), version=2).interface

    source = fake.array(VALUES)
    result = component.with_calls(stream=stream).apply({"x": source})["y"]
    given = Both(result)
    y = component.apply({"x": given})["y"]
    assert given.streams == [1]
    assert y.get().tolist() == [4, 8, 12]
    source.free()


def test_consumers_of_a_result_order_themselves(component, fake, x, stream):
    y = component.with_calls(stream=stream).apply({"x": x})["y"]
    fake.reset_calls()
    capsule = y.__dlpack__(stream=1, max_version=(1, 0))
    assert fake.calls("cuStreamWaitEvent") == 1
    assert fake.state().pending > 0, "nobody waited"
    del capsule


# ---- Through the host --------------------------------------------------------------------------


def test_components_without_cuda_get_and_give_host_arrays(staged, fake, x):
    for _ in range(2):
        before = fake.state()
        y = staged.apply({"x": x, "a": 2.0})["y"]
        assert type(y) is np.ndarray and y.tolist() == [2, 8, 18]
        after = fake.state()
        assert [a - b for a, b in zip(after.copies, before.copies, strict=True)] == [0, 1, 0, 0]
        assert after.host_waits - before.host_waits == 1
    counts = staged.statistics()
    assert (counts["device_copies"], counts["device_bytes"]) == (2, 48)
    t = staged.vector_jacobian_product({"x": x}, ["x"], ["y"], {"y": x})["x"]
    assert t.tolist() == [2, 8, 18]


def test_copies_can_be_forbidden(staged, component, fake, x):
    direct = component.with_calls(allow_copy=False)
    for _ in range(2):
        assert direct.apply({"x": x})["y"].get().tolist() == [2, 4, 6]
    with pytest.raises(InputError, match=r"x.*copies are forbidden") as error:
        staged.with_calls(allow_copy=False).apply({"x": x})
    assert error.value.path == "x"


def test_a_view_that_always_stages(component, fake, x):
    assert component.resolve_gpu_transport() == "cuda_ipc"
    view = component.with_encoding(gpu_transport="none")
    assert view.resolve_gpu_transport() == "none"
    for _ in range(2):
        y = view.apply({"x": x})["y"]
        assert type(y) is np.ndarray and y.tolist() == [2, 4, 6]
        assert (seen().in_type, seen().out_type) == (CPU, CPU)
    assert component.statistics()["device_copies"] == 2
    again = view.with_encoding(gpu_transport="cuda_ipc")
    assert again.apply({"x": x})["y"].get().tolist() == [2, 4, 6]
    assert component.statistics()["device_copies"] == 2


# ---- On the host -------------------------------------------------------------------------------


class OnHost:
    """An array by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        assert "stream" not in keywords
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __len__(self) -> int:
        raise AssertionError("elements are not looked at one by one")


def test_dlpack_on_the_host(component, fake):
    values = VALUES.copy()
    fake.reset_calls()
    for array in (values, values[::-1], np.arange(6.0)[::2]):
        for _ in range(2):
            y = component.apply({"x": OnHost(array)})["y"]
            assert y.tolist() == (2 * array).tolist()
    assert component.apply({"x": OnHost(values)})["y"].tolist() == [2, 4, 6]
    assert seen().in_ == values.ctypes.data
    values.flags.writeable = False
    assert component.apply({"x": OnHost(values)})["y"].tolist() == [2, 4, 6]
    assert seen().in_ == values.ctypes.data
    assert fake.calls() == 0


def test_jax_on_the_host(component, fake):
    jax = pytest.importorskip("jax")
    with jax.enable_x64():
        array = jax.numpy.asarray(VALUES)
    for _ in range(2):
        assert component.apply({"x": array})["y"].tolist() == [2, 4, 6]
        assert seen().in_ == array.unsafe_buffer_pointer()


def test_copies_of_host_arrays_can_be_forbidden_too(component, fake):
    strict = component.with_calls(allow_copy=False)
    assert strict.apply({"x": VALUES})["y"].tolist() == [2, 4, 6]
    records = np.zeros(3, np.dtype([("x", "f8"), ("flag", "i1")]))
    for array, reason in (
        (VALUES.astype(">f8"), "order"),
        (records["x"], "strides"),
        (VALUES[::-1], "copies are forbidden"),
        (VALUES.astype("f4"), "float32"),
    ):
        assert component.apply({"x": array})["y"].tolist() == (2 * array).tolist()
        with pytest.raises(InputError, match=reason) as error:
            strict.apply({"x": array})
        assert error.value.path == "x"
    assert strict.with_calls(allow_copy=True).apply({"x": records["x"]})["y"].tolist() == [0] * 3


# ---- Threads -----------------------------------------------------------------------------------


@pytest.fixture
def pumping(fake):
    """Work is done by another thread only, which needs the GIL."""
    ended = threading.Event()

    def pump() -> None:
        while not ended.wait(0.01):
            fake.pump_all()

    thread = threading.Thread(target=pump)
    fake.set("mode", 2)
    thread.start()
    yield
    ended.set()
    thread.join()
    fake.set("mode", 1)


def test_waiting_is_done_without_the_gil(component, staged, fake, x, stream, pumping):
    assert staged.with_calls(stream=stream).apply({"x": x})["y"].tolist() == [1, 4, 9]
    y = component.with_calls(stream=stream).apply({"x": x})["y"]
    assert y.get().tolist() == [2, 4, 6]
    y = component.apply({"x": x})["y"]
    del y  # which waits for the work that may still use the memory


def test_what_was_exported_is_freed_without_the_gil(component, fake, x, pumping):
    y = component.apply({"x": x})["y"]
    capsule = y.__dlpack__(max_version=(1, 0), stream=-1)
    del y
    fake.launch_scale(1, x.pointer, x.pointer, 3, 1.0)
    del capsule  # the last that refers to the memory


def test_many_threads(component, fake, x):
    results: list[Any] = []

    def call() -> None:
        for _ in range(20):
            results.append(component.apply({"x": x})["y"].get().tolist())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2, 4, 6]] * 80


# ---- Without a driver --------------------------------------------------------------------------

ALONE = """
import sys
import numpy as np
from tesseract_host import Tesseract
component = Tesseract.from_library(sys.argv[1])
class Array:
    __cuda_array_interface__ = {
        "version": 3, "shape": (3,), "typestr": "<f8", "data": (4096, False), "stream": 5}
x = np.ones(3)
assert component.apply({"x": x})["y"].tolist() == [2, 2, 2]
try:
    component.apply({"x": Array()})
except RuntimeError as error:
    print(error)
assert component.apply({"x": x})["y"].tolist() == [2, 2, 2]
"""


def test_without_a_driver_the_error_says_so():
    plugin = native.plugin("on_device")
    environment = {**os.environ, "TESSERACT_HOST_CUDA_DRIVER": "/none/libcuda.so.1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", ALONE, str(plugin)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert '"x"' in done.stdout and "/none/libcuda.so.1" in done.stdout


# ---- What can't be used ------------------------------------------------------------------------


def refused(component: Any, value: Any, pattern: str) -> None:
    for name in ("x", "beside"):
        with pytest.raises(InputError, match=f"{name}.*{pattern}") as error:
            component.apply({"x": VALUES, name: value})
        assert error.value.path == name
        assert "on_device" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"shape": (-1,)}, "negative"),
        ({"shape": (2**62, 2**62)}, "impossible shape"),
        ({"shape": "3"}, "shape"),
        ({"shape": (3.5,)}, "length"),
        ({"shape": (1,) * 70}, "rank 70"),
        ({"shape": (10**6,)}, "beyond the device's memory"),
        ({"strides": (2**60,)}, "stride"),
        ({"strides": (8, 8)}, "strides"),
        ({"strides": (3,)}, "stride"),
        ({"strides": (-(2**40),)}, "beyond the device's memory|no memory"),
        ({"typestr": "<M8"}, "typestr"),
        ({"typestr": ">f8"}, "typestr"),
        ({"typestr": 7}, "typestr"),
        ({"data": (0, False)}, "null pointer"),
        ({"data": (4096, False)}, "no memory of a CUDA device"),
        ({"data": (2**64, False)}, "pointer"),
        ({"data": 1}, "data"),
        ({"stream": 0}, "stream 0"),
        ({"stream": "1"}, "stream"),
        ({"mask": VALUES}, "mask"),
    ],
)
def test_interfaces_that_can_not_be(component, x, changes, pattern):
    refused(component, Interface(x, **changes), pattern)
    assert component.apply({"x": x})["y"].get().tolist() == [2, 4, 6]
    refused(component, Interface(x, **changes), pattern)  # with a call that nearly serves it


def test_an_interface_that_is_none(component, x):
    wrong = Interface(x)
    wrong.interface = 5
    refused(component, wrong, "no dict")


def test_freed_memory(component, fake):
    gone = fake.array(VALUES)
    component.apply({"x": gone})
    gone.free()
    refused(component, gone, "freed")


def test_host_memory_that_is_said_to_be_a_device_s(component, fake, x):
    refused(component, Interface(x, data=(VALUES.ctypes.data, False)), "no memory of a CUDA device")
    pinned = ctypes.c_void_p()
    assert fake.library.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(24), 0) == 0
    refused(component, Interface(x, data=(pinned.value, False)), "page-locked")
    assert fake.library.cuMemFreeHost(pinned) == 0


class Lies:
    """DLPack by functions of a test's."""

    def __init__(self, device: Any, capsule: Any) -> None:
        self.device, self.capsule = device, capsule

    def __dlpack__(self, **_keywords: Any) -> Any:
        return self.capsule()

    def __dlpack_device__(self) -> Any:
        return self.device() if callable(self.device) else self.device


def fail(*_arguments: Any) -> Any:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("device", "capsule", "pattern"),
    [
        ((CUDA, 0), fail, "RuntimeError: boom"),
        ((CPU, 0), fail, "RuntimeError: boom"),
        (fail, fail, "RuntimeError: boom"),
        ((CUDA, 0), lambda: 7, "no DLPack capsule"),
        ((CPU, 0), lambda: None, "no DLPack capsule"),
        ((CPU,), fail, "no pair"),
        ("cpu", fail, "no pair"),
        (("cpu", 0), fail, "TypeError"),
        ((2**40, 0), fail, "OverflowError|type"),
        ((8, 0), fail, "type 8"),
        ((CUDA, 0), lambda: VALUES.__dlpack__(), "another device"),
    ],
)
def test_dlpack_that_can_not_be(component, device, capsule, pattern):
    refused(component, Lies(device, capsule), pattern)
    refused(component, Lies(device, capsule), pattern)


def test_a_capsule_that_was_taken(component):
    capsule = VALUES.__dlpack__()
    taken = np.from_dlpack(Lies((CPU, 0), lambda: capsule))
    refused(component, Lies((CPU, 0), lambda: capsule), "no DLPack capsule")
    assert taken.tolist() == [1, 2, 3]


def test_dlpack_on_a_device_that_is_not_there(component, fake, x):
    owner = on_device(component, x)

    class Elsewhere(ByDLPack):
        def __dlpack__(self, **keywords: Any) -> Any:
            capsule = self.owner.__dlpack__(max_version=(1, 0))
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            # version, manager, deleter, flags; then the pointer and the device of the tensor
            number = pointer(capsule, b"dltensor_versioned") + 8 + 8 + 8 + 8 + 8 + 4
            ctypes.c_int32.from_address(number).value = 7
            return capsule

    refused(component, Elsewhere(owner), "device 7.*on device 0")


def test_dtypes_are_not_converted_on_a_device(component, fake, x):
    single = fake.array(VALUES.astype("f4"))
    with pytest.raises(InputError, match=r"x.*float32"):
        component.apply({"x": single})
    single.free()


def test_interrupts_are_not_swallowed(component, x):
    class Interrupted(Interface):
        @property
        def __cuda_array_interface__(self) -> Any:
            if self.interface is None:
                raise KeyboardInterrupt
            return self.interface

    given = Interrupted(x)
    component.apply({"x": given})
    given.interface = None
    with pytest.raises(KeyboardInterrupt):
        component.apply({"x": given})


def test_failing_driver_calls(component, fake, x, stream):
    """Each call of a run on another stream fails in turn: an error, and nothing is left behind."""
    x.stream = 2
    view = component.with_calls(stream=stream)
    view.apply({"x": x})
    fake.synchronize(stream)
    before = fake.state().outstanding()
    number = 0
    while True:
        number += 1
        fake.fail_nth(number, 999)
        try:
            view.apply({"x": x})
            failed = False
        except (InputError, RuntimeError, EndpointError) as error:
            assert (
                "CUDA_ERROR_UNKNOWN" in str(error) or "999" in str(error) or "launch" in str(error)
            )
            failed = True
        injected = fake.failed()
        fake.fail_nth(0, 0)
        fake.clear()
        fake.synchronize(stream)
        assert fake.state().outstanding() == before, f"call {number}, failed: {failed}"
        if not injected:
            break
    assert number > 6
    assert view.apply({"x": x})["y"].get().tolist() == [2, 4, 6]


def test_components_in_python_are_called_one_way():
    from tesseract_host import Tesseract

    file = Path(__file__).parents[2] / "python_loader" / "modules" / "devices" / "tesseract_api.py"
    module = Tesseract.from_tesseract_api(file)
    assert module.statistics()["calls"] == 0
    with pytest.raises(NotImplementedError, match="in Python"):
        module.with_calls(stream=1)


def test_streams_that_can_not_be(component):
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError, match="stream"):
            component.with_calls(stream=wrong)


def test_objects_are_not_kept(component, fake, x):
    given = Interface(x)
    references = sys.getrefcount(given)
    for _ in range(3):
        component.apply({"x": given})
    assert sys.getrefcount(given) == references
    with pytest.raises(InputError):
        component.apply({"x": VALUES, "beside": Interface(x, shape=(-1,))})
    gc.collect()
    assert sys.getrefcount(given) == references


def test_the_host_s_own_interface_takes_them_too(component, fake, x):
    host = component._client.host()
    outputs, _ = host.apply({"x": x})
    assert outputs["y"].get().tolist() == [2, 4, 6]
    with pytest.raises(TypeError, match="NumPy array"):
        host.apply({"x": object()})
    with pytest.raises(ValueError, match="negative"):
        host.apply({"x": Interface(x, shape=(-1,))})


# ---- Numba -------------------------------------------------------------------------------------


def test_numba_gives_and_takes(component, fake):
    pytest.importorskip("numba", reason="numba is not installed")
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("numba.cuda found another driver before, or none")
    given = cuda.to_device(VALUES)
    for _ in range(2):
        y = component.apply({"x": given})["y"]
        assert seen().in_ == given.device_ctypes_pointer.value
    taken = cuda.as_cuda_array(y)
    assert taken.device_ctypes_pointer.value == seen().out
    assert taken.copy_to_host().tolist() == [2, 4, 6]
