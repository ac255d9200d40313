"""Arrays of other libraries in native components: on the host, and on the fake driver's devices."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from typing import Any

import native
import numpy as np
import pytest
from fake_cuda import DeviceArray
from given_arrays import CPU, CUDA, VALUES, ByDLPack, Interface, on_device, seen
from tesseract_host.exceptions import InputError

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
    gc.collect()  # what earlier tests have left is freed before it is counted
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
