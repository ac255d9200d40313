"""examples/plugin-cuda: the GPU computes what the CPU does."""

from __future__ import annotations

from typing import Any

from rows import Bench, row

GRIDS = ["temperature", "diffusivity", "source"]


def point(shape: tuple[int, int]) -> dict[str, Any]:
    """Grids on the host, and a number."""
    import numpy as np

    random = np.random.default_rng(11)
    return {**{name: random.uniform(0.5, 1, shape) for name in GRIDS}, "dt": 0.1, "spacing": 1.5}


def on_gpu(bench: Bench, inputs: dict[str, Any]) -> dict[str, Any]:
    """The same with the grids on the GPU."""
    return {**inputs, **{name: bench.array(inputs[name]) for name in GRIDS}}


def largest(ours: Any, theirs: Any) -> float:
    """The largest relative error, which must be one of rounding."""
    import numpy as np

    error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    assert error < 1e-13, f"relative error {error:.1e}"
    return error


def compare(bench: Bench, component: Any, reference: Any) -> str:
    """Apply and vjp of a component on the GPU beside those of another on the CPU."""
    import numpy as np

    error = 0.0
    for shape in ((1, 1), (3, 1), (257, 129), (1000, 1200)):
        inputs = point(shape)
        seed = np.random.default_rng(12).normal(size=shape)
        given = on_gpu(bench, inputs)
        ours = component.apply(given)["next"]
        error = max(error, largest(bench.read(ours), reference.apply(inputs)["next"]))
        vjp = component.vector_jacobian_product
        ours = vjp(given, GRIDS, ["next"], {"next": bench.array(seed)})
        vjp = reference.vector_jacobian_product
        theirs = vjp(inputs, GRIDS, ["next"], {"next": seed})
        for name in GRIDS if shape != (1, 1) else GRIDS[::2]:  # no neighbours: no diffusion
            error = max(error, largest(bench.read(ours[name]), theirs[name]))
    return f"largest relative error {error:.1e}"


@row("apply and vjp of the component in CUDA C++ are those of the CPU")
def native(bench: Bench) -> str:
    from tesseract_host import Tesseract

    component = Tesseract.from_library(bench.built("libdiffusion.so"))
    return compare(bench, component, component)


@row("apply and vjp of the module beside it, on CuPy, are those of the CPU", "cupy")
def module(bench: Bench) -> str:
    from tesseract_host import Tesseract

    path = bench.modules.parents[2] / "examples/plugin-cuda/tesseract_api.py"
    component = Tesseract.from_tesseract_api(path, gpu_transport="cuda_ipc")
    return compare(bench, component, Tesseract.from_tesseract_api(path))


@row("its program with prepared calls on a stream of its own prints the right numbers")
def program(bench: Bench) -> str:
    import subprocess

    words = [bench.built("call"), bench.built("libdiffusion.so")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    expected = bench.modules.parents[2] / "examples/plugin-cuda/expected.txt"
    assert done.stdout == expected.read_text(), done.stdout
    assert "on the GPU" in done.stderr, done.stderr
    return "on the GPU"
