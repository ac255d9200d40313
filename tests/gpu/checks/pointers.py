"""Device memory reaches modules where it is."""

from __future__ import annotations

from rows import Bench, gpu_jax, row


@row("a Python caller's device array reaches a module at its address, without a copy")
def from_python(bench: Bench) -> str:
    import numpy as np
    from tesseract_host import Tesseract

    path = bench.modules / "address/tesseract_api.py"
    component = Tesseract.from_tesseract_api(path, gpu_transport="cuda_ipc")
    x = bench.array(np.arange(1000.0))
    seen = int(component.apply({"x": x})["address"])
    assert seen == x.pointer, f"given {x.pointer:#x}, seen {seen:#x}"
    return f"{seen:#x}"


@row("a C caller's device tensor reaches a module at its address, without a copy")
def from_c(bench: Bench) -> str:
    import numpy as np

    component = bench.through_abi("address", gpu_transport="cuda_ipc")
    x = bench.array(np.arange(1000.0))
    seen = int(bench.read(component.apply({"x": x})["address"]))
    assert seen == x.pointer, f"given {x.pointer:#x}, seen {seen:#x}"
    counts = component.statistics()
    copies, size = counts["device_copies"], counts["device_bytes"]
    # The results, two numbers, are the module's on the host, and wanted on the GPU.
    assert (copies, size) == (2, 16), f"{copies} copies between host and GPU, {size} bytes"
    return f"{seen:#x}"


@row("XLA's buffer reaches a module at its address, from a jitted JAX program", "jax")
def from_jax(bench: Bench) -> str:
    jax = gpu_jax()
    from tesseract_host import Tesseract
    from tesseract_host.jax import apply_tesseract

    path = bench.modules / "address/tesseract_api.py"
    component = Tesseract.from_tesseract_api(path, gpu_transport="cuda_ipc")
    x = jax.block_until_ready(jax.numpy.arange(1000.0))
    result = jax.jit(lambda x: apply_tesseract(component, {"x": x}))(x)
    seen, given = int(result["address"]), x.unsafe_buffer_pointer()
    assert int(result["on_host"]) == 0, "the module was given a NumPy array"
    assert seen == given, f"XLA's is {given:#x}, seen {seen:#x}"
    return f"{seen:#x}"


@row("100 calls of a native component on device arrays make no copy that is counted")
def no_copy(bench: Bench) -> str:
    import numpy as np
    from tesseract_host import Tesseract

    component = Tesseract.from_library(bench.built("libnothing.so"))
    x = bench.array(np.arange(1000.0))
    for _ in range(100):
        component.apply({"x": x})
    counts = component.statistics()
    assert counts["calls"] == 100, counts
    assert not any(counts[name] for name in counts if name.endswith("_copies")), counts
    return "0 bytes"


@row("a module that keeps an array beyond the call is told of by name")
def kept(bench: Bench) -> str:
    import numpy as np
    from tesseract_host.exceptions import EndpointError

    x = bench.array(np.arange(10.0))
    component = bench.through_abi("address", gpu_transport="cuda_ipc")
    component.apply({"x": x})  # which keeps nothing
    component = bench.through_abi("keeping", gpu_transport="cuda_ipc")
    try:
        component.apply({"x": x})
    except EndpointError as error:
        text = str(error)
        assert '"x"' in text and "apply" in text, text
        return text.splitlines()[-1]
    raise AssertionError("nothing was said")
