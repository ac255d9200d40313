"""What the Python tests of devices use of the fake driver."""

from __future__ import annotations

import numpy as np
import pytest
from fake_cuda import POISON, READ, WRITE, DriverError


def test_kernels_in_python_run_when_their_turn_comes(fake):
    array, stream = fake.array(np.arange(3.0)), fake.stream()

    def double(data):
        data.view("f8")[:] *= 2

    fake.launch(stream, double, [(array.pointer, 24, READ | WRITE)])
    assert array.values().tolist() == [0, 1, 2]
    assert fake.pump(stream) == 1
    assert array.values().tolist() == [0, 2, 4]
    fake.destroy_stream(stream)
    array.free()


def test_results_are_poison_until_they_are_there(fake):
    source, target = fake.array([1.0]), fake.array([0.0])
    fake.launch_scale(1, target.pointer, source.pointer, 1, 3)
    assert target.values().view("u1").tolist() == [POISON] * 8
    fake.synchronize(1)
    assert target.values().tolist() == [3]
    source.free()
    target.free()


def test_each_driver_call_fails_in_turn(fake):
    before, outcomes = fake.state().outstanding(), []
    for n in fake.failing(code=999):
        try:
            fake.free(fake.allocate(8))
        except DriverError as error:
            outcomes.append((n, error.args[0]))
    assert outcomes == [(1, "cuMemAlloc_v2: 999"), (2, "cuMemFree_v2: 999")]
    assert fake.state().outstanding() == before


def test_captured_work_is_replayed(fake):
    array, stream = fake.array([1.0]), fake.stream()
    fake.begin_capture(stream)
    fake.launch_scale(stream, array.pointer, array.pointer, 1, 3)
    assert fake.end_capture(stream) == 1
    assert array.values().tolist() == [1]
    fake.replay(stream)
    fake.replay(stream)
    fake.synchronize(stream)
    assert array.values().tolist() == [9]
    fake.destroy_stream(stream)
    array.free()


def test_misuse_is_told(fake):
    array = fake.array([1.0])
    array.free()
    with pytest.raises(DriverError, match=": 1"):
        array.free()
    assert fake.faults()[0].startswith("double-free: cuMemFree_v2: ")
    fake.clear()
