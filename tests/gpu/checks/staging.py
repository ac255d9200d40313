"""Components for host arrays are given copies, which are counted."""

from __future__ import annotations

from rows import Bench, gpu_jax, row


@row("a native component for host arrays is given a copy of each, once, which is counted")
def native(bench: Bench) -> str:
    import numpy as np
    from tesseract_host import Tesseract

    component = Tesseract.from_library(bench.built("libdouble.so"))
    values = np.arange(5000.0)
    result = component.apply({"x": bench.array(values)})["y"]
    np.testing.assert_array_equal(result, 2 * values)
    assert isinstance(result, np.ndarray), type(result)  # and so isn't copied
    return counted(component, arrays=1, size=values.nbytes)


@row("a module opened without gpu_transport is given NumPy arrays, from JAX", "jax")
def module(bench: Bench) -> str:
    from tesseract_host import Tesseract

    component = Tesseract.from_tesseract_api(bench.modules / "address/tesseract_api.py")
    assert on_host(component), "the module was given a device array"
    return counted(component)


@row("with_encoding(gpu_transport='none') stages, and the component itself doesn't", "jax")
def encoding(bench: Bench) -> str:
    from tesseract_host import Tesseract

    path = bench.modules / "address/tesseract_api.py"
    component = Tesseract.from_tesseract_api(path, gpu_transport="cuda_ipc")
    view = component.with_encoding(gpu_transport="none")
    assert on_host(view), "the view gave the module a device array"
    assert not on_host(component), "the component gave the module a NumPy array"
    return counted(component)


@row("where the caller forbids copies, a staged call is an error that names the array")
def forbidden(bench: Bench) -> str:
    return bench.native("no-copy", bench.built("libdouble.so"))


def on_host(component: object) -> bool:
    """Whether the module that says what it is given is given a NumPy array, from JAX."""
    jax = gpu_jax()
    from tesseract_host.jax import apply_tesseract

    function = jax.jit(lambda x: apply_tesseract(component, {"x": x})["on_host"])
    return bool(int(function(jax.numpy.arange(1000.0))))


def counted(component: object, arrays: int | None = None, size: int = 0) -> str:
    """The copies counted: as many as said, at least one where nothing is said."""
    counts = component.statistics()  # type: ignore[attr-defined]
    copies, moved = counts["device_copies"], counts["device_bytes"]
    if arrays is None:
        assert copies > 0, "no copy was counted"
    else:
        assert (copies, moved) == (arrays, arrays * size), f"{copies} copies, {moved} bytes"
    return f"{copies} copies, {moved} bytes"
