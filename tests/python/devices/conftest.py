"""Device arrays where there is no device: on the fake driver, for the host and for Numba.

Both look for a driver once in a process, so the whole run is told of the fake one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fake_cuda"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import fake_cuda
import native
from given_arrays import VALUES

if fake_cuda.LIBRARY.exists():
    for variable in ("TESSERACT_HOST_CUDA_DRIVER", "NUMBA_CUDA_DRIVER"):
        os.environ[variable] = str(fake_cuda.LIBRARY)


@pytest.fixture(scope="session")
def driver() -> fake_cuda.FakeCuda:
    """The fake driver, whose contexts live as long as the process."""
    if not fake_cuda.LIBRARY.exists():
        pytest.skip(f"{fake_cuda.LIBRARY} is not built")
    return fake_cuda.FakeCuda()


@pytest.fixture
def fake(driver: fake_cuda.FakeCuda) -> Iterator[fake_cuda.FakeCuda]:
    """The fake driver with device 0 current; a fault fails the test, unless it cleared it."""
    driver.clear()
    with driver.device():
        yield driver
    assert driver.faults() == []


# ---- Components and what they are given ----------------------------------------------------------


@pytest.fixture
def component(fake):
    """y = 2 x, on the device where x is."""
    return native.opened("on_device")


@pytest.fixture
def staged(fake):
    """y = a x², on the host."""
    return native.opened("square")


@pytest.fixture
def x(fake):
    array = fake.array(VALUES)
    yield array
    array.free()


@pytest.fixture
def there(driver, fake):
    """An array on device 1."""
    with driver.device(1):  # which would end, memory and all, with the last who has it
        array = driver.array(VALUES)
        with driver.device(0):
            yield array
        array.free()


@pytest.fixture
def stream(fake):
    made = fake.stream(blocking=False)
    yield made
    fake.synchronize(made)
    fake.destroy_stream(made)
