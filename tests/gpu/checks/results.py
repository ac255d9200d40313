"""Results that the host allocates on the GPU."""

from __future__ import annotations

from rows import Bench, row


@row("without a destination a result is on the GPU, lives on and is freed")
def allocated(bench: Bench) -> str:
    import numpy as np
    from tesseract_host import Tesseract

    component = Tesseract.from_library(bench.built("libdiffusion.so"))
    grid = np.full((1000, 1000), 2.0)
    names = ("temperature", "diffusivity", "source")
    inputs = {**{name: bench.array(grid) for name in names}, "dt": 0.1}
    first = component.apply(inputs)["next"]
    assert hasattr(first, "__cuda_array_interface__"), type(first)
    bench.driver.synchronize()
    before = bench.driver.free_bytes()
    for _ in range(200):  # 8 MB each: 1.6 GB, were they kept
        component.apply(inputs)
    bench.driver.synchronize()
    grown = before - bench.driver.free_bytes()
    assert grown < 400e6, f"{grown / 1e6:.0f} MB more are in use after 200 results of 8 MB"
    del component
    np.testing.assert_allclose(bench.read(first), 2.2, rtol=1e-14)
    return f"{max(grown, 0) / 1e6:.0f} MB more in use after 200 results of 8 MB"
