"""Libraries that modules use take the device arrays as they are, and their arrays are results."""

from __future__ import annotations

from typing import Any

from rows import Bench, gpu_torch, row


def use(bench: Bench, module: str) -> str:
    """A module doubles a device tensor by its library, which must see it where it is."""
    import numpy as np

    component = bench.through_abi(module, gpu_transport="cuda_ipc")
    values = np.arange(1000.0)
    x = bench.array(values)
    for _ in range(3):
        result: dict[str, Any] = component.apply({"x": x})
        seen = int(bench.read(result["address"]))
        assert seen == x.pointer, f"given {x.pointer:#x}, the library's array is at {seen:#x}"
        np.testing.assert_array_equal(bench.read(result["y"]), 2 * values)
    np.testing.assert_array_equal(x.get(), values)
    return f"{seen:#x}"


@row("CuPy takes a module's array without a copy; its result is right", "cupy")
def with_cupy(bench: Bench) -> str:
    return use(bench, "with_cupy")


@row("torch takes a module's array without a copy; its result is right", "torch")
def with_torch(bench: Bench) -> str:
    gpu_torch()
    return use(bench, "with_torch")


@row("Numba takes a module's array without a copy; its result is right", "numba")
def with_numba(bench: Bench) -> str:
    return use(bench, "with_numba")
