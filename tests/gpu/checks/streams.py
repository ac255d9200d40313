"""What a caller has enqueued comes before the component's work, on any stream."""

from __future__ import annotations

from typing import Any

from rows import Bench, gpu_jax, gpu_torch, row

SECONDS = 0.2  # that the work before the call takes


def doubled_late(bench: Bench, module: str, **options: Any) -> str:
    """A module doubles what a slow kernel on the caller's stream is still to write."""
    import numpy as np

    component = bench.through_abi(module, gpu_transport="cuda_ipc", **options)
    stream = bench.driver.make_stream()
    x = bench.array(np.zeros(1000), stream)
    component.apply({"x": x})  # so that nothing is compiled or loaded in the next call
    bench.driver.slow_fill(x, 7.0, stream, SECONDS)
    assert not bench.driver.is_idle(stream), "the kernel was done before the call"
    result = component.apply({"x": x})
    waited = bench.driver.is_idle(stream)
    assert waited != options.get("stream_ordered", False), f"the call waited: {waited}"
    np.testing.assert_array_equal(bench.read(result["y"]), np.full(1000, 14.0))
    return f"after a kernel of {1000 * SECONDS:.0f} ms"


@row("a module that works with CuPy waits for the caller's stream", "cupy")
def module_with_cupy(bench: Bench) -> str:
    return doubled_late(bench, "with_cupy")


@row("a module that works with torch waits for the caller's stream", "torch")
def module_with_torch(bench: Bench) -> str:
    gpu_torch()
    return doubled_late(bench, "with_torch")


@row("a module that works with Numba waits for the caller's stream", "numba")
def module_with_numba(bench: Bench) -> str:
    return doubled_late(bench, "with_numba")


@row(
    "CuPy in a stream-ordered module works behind the caller's kernel, and isn't waited for", "cupy"
)
def ordered_cupy(bench: Bench) -> str:
    return doubled_late(bench, "with_cupy", stream_ordered=True)


@row(
    "torch in a stream-ordered module works behind the caller's kernel, and isn't waited for",
    "torch",
)
def ordered_torch(bench: Bench) -> str:
    gpu_torch()
    return doubled_late(bench, "with_torch", stream_ordered=True)


@row("a native component's kernel runs behind the caller's, and the call doesn't wait")
def native(bench: Bench) -> str:
    return bench.native("order", bench.built("libdiffusion.so"))


@row("staging waits for the caller's stream, and for nothing else")
def staged(bench: Bench) -> str:
    return bench.native("order-staged", bench.built("libdouble.so"))


@row("200 steps in a JAX scan on the GPU are those of the CPU", "jax")
def scan(bench: Bench) -> str:
    jax = gpu_jax()
    import numpy as np
    from tesseract_host import Tesseract
    from tesseract_host.jax import apply_tesseract

    component = Tesseract.from_library(bench.built("libdiffusion.so"))
    random = np.random.default_rng(5)
    start, diffusivity, source = random.uniform(0.5, 1, (3, 64, 80))

    def step(temperature: Any, _: None) -> tuple[Any, None]:
        inputs = {"temperature": temperature, "diffusivity": diffusivity, "source": source}
        return apply_tesseract(component, {**inputs, "dt": 0.1})["next"], None

    def steps(temperature: Any) -> Any:
        return jax.lax.scan(step, temperature, length=200)[0]

    def both(temperature: Any) -> tuple[Any, Any]:
        return steps(temperature), jax.grad(lambda x: (steps(x) ** 2).sum())(temperature)

    results = {}
    for kind in ("cuda", "cpu"):
        with jax.default_device(jax.devices(kind)[0]):
            results[kind] = [np.asarray(array) for array in jax.jit(both)(start)]
    for ours, theirs in zip(results["cuda"], results["cpu"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    copies = component.statistics()["device_copies"]
    assert copies == 0, f"{copies} copies between host and GPU"
    return "values and gradient; no copy"
