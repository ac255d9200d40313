"""Compares the component with the module beside it, and its gradients with finite differences.

    module_test.py libdiffusion.so

All of it on the CPU: what a GPU does is shown by tests/gpu in the source tree.
"""

import sys
from pathlib import Path

import numpy as np
from tesseract_host import Tesseract

GRIDS = ("temperature", "diffusivity", "source")


def point(shape):
    """Inputs of a stable step on a grid of this shape."""
    random = np.random.default_rng(7)
    inputs = {name: random.uniform(0.5, 2.0, shape) for name in GRIDS}
    return {**inputs, "dt": 0.05, "spacing": 0.8}


def check_equal(component, module, shape):
    """The two have the same results to rounding."""
    inputs = point(shape)
    np.testing.assert_allclose(
        component.apply(inputs)["next"], module.apply(inputs)["next"], rtol=1e-13, atol=1e-13
    )
    seed = np.random.default_rng(8).normal(size=shape)
    arguments = (inputs, list(GRIDS), ["next"], {"next": seed})
    ours = component.vector_jacobian_product(*arguments)
    theirs = module.vector_jacobian_product(*arguments)
    assert set(ours) == set(theirs) == set(GRIDS)
    for name in GRIDS:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-13)


def check_gradient(opened, name):
    """The gradient along a direction is the change of the seeded sum along it.

    The step is linear in each grid, so that central differences are exact to rounding.
    """
    inputs = point((5, 7))
    random = np.random.default_rng(9)
    seed, direction = random.normal(size=(2, 5, 7))
    gradient = opened.vector_jacobian_product(inputs, [name], ["next"], {"next": seed})[name]
    ahead = opened.apply({**inputs, name: inputs[name] + direction})["next"]
    behind = opened.apply({**inputs, name: inputs[name] - direction})["next"]
    assert np.isclose(np.sum(gradient * direction), np.sum(seed * (ahead - behind)) / 2, rtol=1e-11)


def check_heat(component):
    """Without a source the heat stays the same: nothing flows through the edges."""
    inputs = point((6, 4)) | {"source": np.zeros((6, 4))}
    after = component.apply(inputs)["next"]
    assert np.isclose(after.sum(), inputs["temperature"].sum(), rtol=1e-13)
    assert not np.allclose(after, inputs["temperature"])


def main():
    component = Tesseract.from_library(sys.argv[1])
    module = Tesseract.from_tesseract_api(Path(__file__).with_name("tesseract_api.py"))
    for shape in ((1, 1), (1, 6), (9, 1), (13, 17), (0, 3)):
        check_equal(component, module, shape)
    for opened in (component, module):
        for name in GRIDS:
            check_gradient(opened, name)
    check_heat(component)
    print("component and module agree with each other and with finite differences")


if __name__ == "__main__":
    main()
