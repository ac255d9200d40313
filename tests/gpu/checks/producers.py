"""Arrays of the usual libraries are arguments of components, and results can be theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rows import Bench, gpu_jax, gpu_torch, row


def give(bench: Bench, make: Callable[[Any], Any], take: Callable[[Any], Any]) -> None:
    """The example in CUDA is called with arrays that `make` makes; `take` reads the result."""
    import numpy as np
    from tesseract_host import Tesseract

    component = Tesseract.from_library(bench.built("libdiffusion.so"))
    random = np.random.default_rng(3)
    inputs = {name: random.uniform(0.5, 1, (40, 50)) for name in GRIDS}
    given = {name: make(value) for name, value in inputs.items()}
    on_gpu = component.apply({**given, "dt": 0.1})["next"]
    assert hasattr(on_gpu, "__cuda_array_interface__"), type(on_gpu)
    expected = component.apply({**inputs, "dt": 0.1})["next"]
    np.testing.assert_allclose(take(on_gpu), expected, rtol=1e-13)
    copies = component.statistics()["device_copies"]
    assert copies == 0, f"{copies} copies between host and GPU"


GRIDS = ("temperature", "diffusivity", "source")


@row("CuPy arrays are arguments; CuPy takes the result", "cupy")
def of_cupy(bench: Bench) -> None:
    import cupy

    give(bench, cupy.asarray, lambda result: cupy.asarray(result).get())


@row("torch tensors are arguments; torch takes the result, by DLPack", "torch")
def of_torch(bench: Bench) -> None:
    torch = gpu_torch()
    give(
        bench,
        lambda array: torch.from_numpy(array).cuda(),
        lambda result: torch.from_dlpack(result).cpu().numpy(),
    )


@row("Numba's device arrays are arguments; Numba takes the result", "numba")
def of_numba(bench: Bench) -> None:
    from numba import cuda

    give(bench, cuda.to_device, lambda result: cuda.as_cuda_array(result).copy_to_host())


@row("JAX arrays are arguments; JAX takes the result, by DLPack", "jax")
def of_jax(bench: Bench) -> None:
    jax = gpu_jax()
    import numpy as np

    give(bench, jax.device_put, lambda result: np.asarray(jax.numpy.from_dlpack(result)))
