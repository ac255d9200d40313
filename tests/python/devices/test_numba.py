"""Numba as a consumer and a producer of device arrays, on the fake driver."""

from __future__ import annotations

import numpy as np
import pytest
from fake_cuda import DeviceArray


@pytest.fixture
def cuda(fake):
    """numba.cuda, which talks to the fake driver."""
    pytest.importorskip("numba", reason="numba is not installed")
    from numba import cuda

    if not cuda.is_available():
        pytest.skip("numba.cuda found another driver before, or none")
    cuda.current_context()  # retains the device's context for good
    return cuda


@pytest.fixture
def outstanding(cuda, fake):
    """Compares what is outstanding before and after a test."""
    before = fake.state().outstanding()
    yield
    assert fake.state().outstanding() == before


def test_an_array_is_taken_as_it_is(cuda, fake, outstanding):
    array = fake.array(np.arange(6.0).reshape(2, 3))
    taken = cuda.as_cuda_array(array)
    assert taken.device_ctypes_pointer.value == array.pointer
    assert (taken.shape, taken.dtype) == ((2, 3), np.float64)
    state = fake.state()
    assert list(state.copies) == [0, 0, 0, 0]
    assert fake.calls("cuMemAlloc") == 1  # the test's own
    assert np.array_equal(taken.copy_to_host(), np.arange(6.0).reshape(2, 3))
    assert list(fake.state().copies) == [0, 1, 0, 0]
    array.free()


@pytest.mark.parametrize("stream", ["handle", 1, 2])
def test_a_published_stream_is_synchronised(cuda, fake, outstanding, stream):
    own = fake.stream(blocking=False)
    stream = own if stream == "handle" else stream
    source, array = fake.array([1.0, 2.0]), fake.array([0.0, 0.0], stream=stream)
    fake.launch_scale(stream, array.pointer, source.pointer, 2, 10)
    assert fake.state().pending == 1
    taken = cuda.as_cuda_array(array)
    assert fake.calls("cuStreamSynchronize") == 1
    assert fake.state().pending == 0
    assert taken.copy_to_host().tolist() == [10, 20]
    fake.destroy_stream(own)
    source.free()
    array.free()


def test_no_stream_is_no_synchronisation(cuda, fake, outstanding):
    array = fake.array([1.0])
    cuda.as_cuda_array(array)
    assert fake.calls("cuStreamSynchronize") == 0
    array.free()


def test_a_stream_that_is_not_published_is_found_out(cuda, fake, outstanding):
    """What a module would do to an array whose work isn't done, on its own stream."""
    own = fake.stream(blocking=False)
    array = fake.array([1.0])
    fake.launch_scale(own, array.pointer, array.pointer, 1, 2)
    cuda.as_cuda_array(array).copy_to_host()
    assert [fault.split(":")[0] for fault in fake.faults()] == ["race"]
    fake.clear()
    fake.destroy_stream(own)
    array.free()


def test_strides_and_offsets_are_followed(cuda, fake, outstanding):
    array = fake.array(np.arange(12.0))
    view = DeviceArray(fake, array.pointer + 8, (3, 2), "f8", strides=(8, 32))
    taken = cuda.as_cuda_array(view)
    assert taken.strides == (8, 32)
    assert taken.device_ctypes_pointer.value == array.pointer + 8
    array.free()


def test_column_major_arrays_are_copied_right(cuda, fake, outstanding):
    array = fake.array(np.arange(6.0))
    view = DeviceArray(fake, array.pointer, (2, 3), "f8", strides=(8, 16))
    values = cuda.as_cuda_array(view).copy_to_host()
    assert np.array_equal(values, np.arange(6.0).reshape((2, 3), order="F"))
    array.free()


def test_the_read_only_flag_is_no_obstacle(cuda, fake, outstanding):
    array = fake.array([1.0])
    view = DeviceArray(fake, array.pointer, (1,), "f8", read_only=True)
    assert cuda.as_cuda_array(view).copy_to_host().tolist() == [1]
    array.free()


def test_an_array_of_numba_lies_on_the_fake_device(cuda, fake):
    made = cuda.to_device(np.arange(4.0))
    pointer, _read_only = made.__cuda_array_interface__["data"]
    assert fake.read(pointer, (4,)).tolist() == [0, 1, 2, 3]
    assert fake.state().copies[0] == 1


def test_a_driver_error_is_numbas_error(cuda, fake, outstanding):
    from numba.cuda.cudadrv.driver import CudaAPIError

    array = fake.array([1.0], stream=1)
    fake.fail_next("cuStreamSynchronize", 719)
    with pytest.raises(CudaAPIError, match="719"):
        cuda.as_cuda_array(array)
    fake.clear()
    array.free()
