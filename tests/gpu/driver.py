"""As much of the CUDA driver as the checks need, by ctypes: no library but Python's own.

That a check's arrays come from here, and not from a library that it is about, keeps the rows of the
table apart.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from ctypes import byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

# The driver that the host uses too.  `run` refuses another than the machine's; what is here is
# tried on a model of one by tests/python.
VARIABLE = "TESSERACT_HOST_CUDA_DRIVER"
LIBRARY = os.environ.get(VARIABLE) or "libcuda.so.1"

# Waits, then writes a number to each element: out, count, number, nanoseconds to wait.
SLOW_FILL = """
.version 6.0
.target sm_60
.address_size 64
.visible .entry slow_fill(.param .u64 out, .param .u64 count, .param .f64 number, .param .u64 wait)
{
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %d<12>;
  .reg .f64 %f<2>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [count];
  ld.param.f64 %f0, [number];
  ld.param.u64 %d2, [wait];
  cvta.to.global.u64 %d0, %d0;
  mov.u64 %d3, %globaltimer;
  add.u64 %d3, %d3, %d2;
again:
  mov.u64 %d4, %globaltimer;
  setp.lt.u64 %p0, %d4, %d3;
  @%p0 bra again;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d5, %r0, %r1;
  cvt.u64.u32 %d6, %r2;
  add.u64 %d5, %d5, %d6;
  setp.ge.u64 %p1, %d5, %d1;
  @%p1 bra done;
  shl.b64 %d7, %d5, 3;
  add.u64 %d8, %d0, %d7;
  st.global.f64 [%d8], %f0;
done:
  ret;
}
"""


class DriverError(RuntimeError):
    """A function of the driver failed."""


class Driver:
    """The first GPU, its primary context current on this thread."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        self("cuInit", c_uint(0))
        count = c_int()
        self("cuDeviceGetCount", byref(count))
        if count.value == 0:
            raise DriverError("the driver knows no device")
        device, self._context = c_int(), c_void_p()
        self("cuDeviceGet", byref(device), c_int(0))
        self._device = device
        self("cuDevicePrimaryCtxRetain", byref(self._context), device)
        self("cuCtxSetCurrent", self._context)

    def __call__(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver; raises what its status says."""
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            text = c_char_p()
            self._library.cuGetErrorName(status, byref(text))
            raise DriverError(f"{name}: {(text.value or b'unknown error').decode()}")

    @property
    def name(self) -> str:
        """The GPU's name, and the version of CUDA that the driver serves."""
        text, version = ctypes.create_string_buffer(100), c_int()
        self("cuDeviceGetName", text, c_int(len(text)), self._device)
        self("cuDriverGetVersion", byref(version))
        return f"{text.value.decode()}, CUDA {version.value // 1000}.{version.value % 1000 // 10}"

    def free_bytes(self) -> int:
        """How much memory of the GPU is free."""
        free, total = c_size_t(), c_size_t()
        self("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def make_stream(self) -> int:
        """A stream that does not wait for the default ones; never destroyed."""
        stream = c_void_p()
        self("cuStreamCreate", byref(stream), c_uint(1))
        return stream.value or 0

    def synchronize(self, stream: int | None = None) -> None:
        """Waits for a stream, or for all of them."""
        if stream is None:
            self("cuCtxSynchronize")
        else:
            self("cuStreamSynchronize", c_void_p(stream))

    def is_idle(self, stream: int) -> bool:
        """Whether all that was enqueued on a stream is done."""
        status = self._library.cuStreamQuery(c_void_p(stream))
        if status not in (0, 600):  # CUDA_ERROR_NOT_READY
            raise DriverError(f"cuStreamQuery: {status}")
        return status == 0

    def slow_fill(self, array: DeviceArray, number: float, stream: int, seconds: float) -> None:
        """Enqueues a kernel that takes its time and then writes a number to each element."""
        values = (
            c_uint64(array.pointer),
            c_uint64(array.size),
            c_double(number),
            c_uint64(int(seconds * 1e9)),
        )
        pointers = (c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        blocks, threads = (array.size + 255) // 256, 256
        sizes = map(c_uint, (blocks, 1, 1, threads, 1, 1, 0))
        self("cuLaunchKernel", self._slow_fill, *sizes, c_void_p(stream), pointers, None)

    @functools.cached_property
    def _slow_fill(self) -> c_void_p:
        module, function = c_void_p(), c_void_p()
        self("cuModuleLoadData", byref(module), c_char_p(SLOW_FILL.encode()))
        self("cuModuleGetFunction", byref(function), module, c_char_p(b"slow_fill"))
        return function


class DeviceArray:
    """A compact array on the GPU, which anybody who knows the CUDA array interface can take."""

    def __init__(self, driver: Driver, array: Any, stream: int | None = None) -> None:
        self.shape, self.typestr = tuple(array.shape), array.dtype.str
        self.size, self.nbytes = math.prod(self.shape), array.nbytes
        self.stream = stream
        self._driver, self._dtype = driver, array.dtype
        pointer = c_uint64()
        driver("cuMemAlloc_v2", byref(pointer), c_size_t(max(array.nbytes, 1)))
        self.pointer = pointer.value
        source = array.ctypes.data_as(c_void_p)
        driver("cuMemcpyHtoD_v2", pointer, source, c_size_t(array.nbytes))

    def __del__(self) -> None:
        self._driver("cuMemFree_v2", c_uint64(self.pointer))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.pointer if self.size else 0, False),
            "strides": None,
            "stream": self.stream,
        }

    def get(self) -> Any:
        """A NumPy array with the elements, when all that runs on the GPU is done."""
        return read(self._driver, self.pointer, self.shape, self._dtype)


def read(driver: Driver, pointer: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """A NumPy array with what is at an address of the GPU, when all that runs there is done."""
    import numpy as np

    driver.synchronize()
    array = np.empty(shape, dtype)
    target = array.ctypes.data_as(c_void_p)
    driver("cuMemcpyDtoH_v2", target, c_uint64(pointer), c_size_t(array.nbytes))
    return array


def absence() -> str | None:
    """Why there is no GPU to use here; None where there is one."""
    try:
        Driver()
    except (OSError, DriverError) as error:
        return str(error)
    return None
