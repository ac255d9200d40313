"""The fake CUDA driver for Python tests: fake_cuda.h and what of the driver they need."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

BUILD = Path(__file__).parents[2] / "build" / "tests" / "fake_cuda"
LIBRARY = Path(os.environ.get("TESSERACT_HOST_TEST_FAKE_CUDA") or BUILD / "libcuda.so.1")
READ, WRITE, POISON = 1, 2, 0xCB

_WORK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class State(ctypes.Structure):
    """What is outstanding, and what was copied and waited for."""

    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in (
                "device_allocations",
                "device_bytes",
                "host_allocations",
                "host_bytes",
                "registrations",
                "streams",
                "events",
                "contexts",
                "retains",
                "context_depth",
                "pushes_less_pops",
                "pending",
                "host_waits",
            )
        ),
        ("copies", ctypes.c_int64 * 4),
        ("copied_bytes", ctypes.c_int64 * 4),
    )

    def outstanding(self) -> dict[str, int]:
        """What a piece of code must leave as it was."""
        return {name: getattr(self, name) for name, _ in self._fields_[:11]}


class Range(ctypes.Structure):
    """Memory that a kernel uses."""

    _fields_ = (
        ("pointer", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("access", ctypes.c_int32),
    )


class DriverError(RuntimeError):
    """A driver function's code."""

    def __init__(self, function: str, code: int):
        super().__init__(f"{function}: {code}")
        self.code = code


class FakeCuda:
    """The library, loaded once per process whoever asks first."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(LIBRARY))
        self._launched: list[Any] = []  # what pending kernels are
        for name in ("fault", "trace"):
            getattr(self.library, f"fake_cuda_{name}").restype = ctypes.c_char_p
        for name in ("calls", "failed", "pump", "pump_all"):
            getattr(self.library, f"fake_cuda_{name}").restype = ctypes.c_int64

    # ---- fake_cuda.h

    def reset(self) -> None:
        self.library.fake_cuda_reset()
        self._launched.clear()

    def clear(self) -> None:
        self.library.fake_cuda_clear()

    def set(self, option: str, value: int) -> None:
        if self.library.fake_cuda_set(option.encode(), ctypes.c_int64(value)):
            raise ValueError(f"no option {option}")

    def hide(self, function: str) -> None:
        self.library.fake_cuda_hide(function.encode())

    def faults(self) -> list[str]:
        number = self.library.fake_cuda_faults()
        return [self.library.fake_cuda_fault(i).decode() for i in range(number)]

    def state(self) -> State:
        state = State()
        self.library.fake_cuda_get_state(ctypes.byref(state))
        return state

    def calls(self, function: str | None = None) -> int:
        return int(self.library.fake_cuda_calls(function.encode() if function else None))

    def reset_calls(self) -> None:
        self.library.fake_cuda_reset_calls()

    def trace(self) -> list[str]:
        return self.library.fake_cuda_trace().decode().split()

    def fail_nth(self, n: int, code: int) -> None:
        self.library.fake_cuda_fail_nth(ctypes.c_int64(n), code)

    def fail_next(self, function: str, code: int, times: int = 1) -> None:
        self.library.fake_cuda_fail_next(function.encode(), code, ctypes.c_int64(times))

    def failing(self, code: int) -> Iterator[int]:
        """Numbers n, the n-th driver call failing after each, until a turn had no n-th call."""
        for n in itertools.count(1):
            before = self.failed()
            self.fail_nth(n, code)
            yield n
            self.fail_nth(0, 0)
            if self.failed() == before:
                return

    def failed(self) -> int:
        return int(self.library.fake_cuda_failed())

    def stick(self, device: int, code: int) -> None:
        self.library.fake_cuda_stick(device, code)

    def pump(self, stream: int, count: int = -1) -> int:
        return int(self.library.fake_cuda_pump(ctypes.c_void_p(stream), ctypes.c_int64(count)))

    def pump_all(self) -> int:
        return int(self.library.fake_cuda_pump_all())

    def launch(self, stream: int, work: Any, ranges: Sequence[tuple[int, int, int]]) -> None:
        """Enqueues `work(*arrays of bytes)`, one per range (pointer, bytes, access).

        It takes the GIL when it runs: whoever waits for the stream must not hold it.
        """

        def run(_argument: int | None, memory: Any) -> int:
            arrays = [
                np.ctypeslib.as_array((ctypes.c_uint8 * r[1]).from_address(memory[i]))
                for i, r in enumerate(ranges)
            ]
            return int(work(*arrays) or 0)

        callback = _WORK(run)
        self._launched.append(callback)
        array = (Range * max(len(ranges), 1))(*(Range(*r) for r in ranges))
        self._check("fake_cuda_launch", ctypes.c_void_p(stream), callback, None, array, len(ranges))

    def launch_scale(self, stream: int, to: int, source: int, count: int, factor: float) -> None:
        self._check(
            "fake_cuda_launch_scale",
            ctypes.c_void_p(stream),
            ctypes.c_uint64(to),
            ctypes.c_uint64(source),
            ctypes.c_uint64(count),
            ctypes.c_double(factor),
        )

    def write(self, pointer: int, array: Any) -> None:
        array = np.ascontiguousarray(array)
        source = ctypes.c_void_p(array.ctypes.data)
        size = ctypes.c_uint64(array.nbytes)
        self._check("fake_cuda_write", ctypes.c_uint64(pointer), source, size)

    def read(self, pointer: int, shape: Any, dtype: Any = "float64") -> np.ndarray[Any, Any]:
        array = np.empty(shape, dtype)
        target = ctypes.c_void_p(array.ctypes.data)
        size = ctypes.c_uint64(array.nbytes)
        self._check("fake_cuda_read", ctypes.c_uint64(pointer), target, size)
        return array

    def begin_capture(self, stream: int, mode: int = 0) -> None:
        self._check("fake_cuda_begin_capture", ctypes.c_void_p(stream), mode)

    def end_capture(self, stream: int) -> int:
        captured = ctypes.c_int64()
        self._check("fake_cuda_end_capture", ctypes.c_void_p(stream), ctypes.byref(captured))
        return captured.value

    def replay(self, stream: int) -> None:
        self._check("fake_cuda_replay", ctypes.c_void_p(stream))

    # ---- The driver

    @contextmanager
    def device(self, number: int = 0) -> Iterator[None]:
        """The device's primary context, retained and current meanwhile."""
        context = ctypes.c_void_p()
        self._check("cuInit", 0)
        self._check("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
        self._check("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self._check("cuCtxPopCurrent_v2", ctypes.byref(context))
            self._check("cuDevicePrimaryCtxRelease_v2", number)

    def allocate(self, size: int) -> int:
        pointer = ctypes.c_uint64()
        self._check("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value

    def free(self, pointer: int) -> None:
        self._check("cuMemFree_v2", ctypes.c_uint64(pointer))

    def stream(self, blocking: bool = True) -> int:
        stream = ctypes.c_void_p()
        self._check("cuStreamCreate", ctypes.byref(stream), 0 if blocking else 1)
        return stream.value or 0

    def destroy_stream(self, stream: int) -> None:
        self._check("cuStreamDestroy_v2", ctypes.c_void_p(stream))

    def synchronize(self, stream: int) -> None:
        self._check("cuStreamSynchronize", ctypes.c_void_p(stream))

    def array(self, values: Any, stream: int | None = None) -> DeviceArray:
        """A new device array of these values, already there."""
        values = np.asarray(values)
        pointer = self.allocate(max(values.nbytes, 1))
        self.write(pointer, values)
        return DeviceArray(self, pointer, values.shape, values.dtype, stream=stream)

    def _check(self, function: str, *arguments: Any) -> None:
        code = getattr(self.library, function)(*arguments)
        if code:
            raise DriverError(function, code)


class DeviceArray:
    """Something with `__cuda_array_interface__`; the memory is the test's to free."""

    def __init__(
        self,
        fake: FakeCuda,
        pointer: int,
        shape: tuple[int, ...],
        dtype: Any,
        *,
        strides: tuple[int, ...] | None = None,
        stream: int | None = None,
        read_only: bool = False,
    ):
        self.fake, self.pointer, self.shape, self.dtype = fake, pointer, shape, np.dtype(dtype)
        self.strides, self.stream, self.read_only = strides, stream, read_only

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer if np.prod(self.shape) else 0, self.read_only),
            "strides": self.strides,
            "stream": self.stream,
        }

    def values(self) -> np.ndarray[Any, Any]:
        """As a debugger sees them, whatever is pending."""
        assert self.strides is None
        return self.fake.read(self.pointer, self.shape, self.dtype)

    def free(self) -> None:
        self.fake.free(self.pointer)
