"""Nothing hangs: calls in every situation, in processes with one and two threads in JAX's pool and
one and two devices, for every kind of component.  Where one does, its process writes the stacks of
all threads and the name of the situation comes last in its output.
"""

from __future__ import annotations

from pathlib import Path

import jax_processes
import jax_support
import pytest

pytest.importorskip("jax", reason="jax is not installed")

PLAIN = ("python", "carrier", "straight")
USING_JAX = ("nested", "twice", "late")


@pytest.fixture(autouse=True)
def _adapter_is_there() -> None:
    jax_support.needs_adapter()


@pytest.fixture(params=["1", "2"], ids=["one thread", "two threads"])
def pool(request: pytest.FixtureRequest) -> str:
    """What jaxlib takes for the number of processors."""
    return str(request.param)


def finished(*kinds: str, pool: str, devices: int = 1) -> None:
    flag = f"--xla_force_host_platform_device_count={devices}"
    out = jax_processes.run("hangs.py", *kinds, NPROC=pool, XLA_FLAGS=flag)
    assert out.endswith("all done\n")


def test_calls_of_components_that_do_not_use_jax(pool: str) -> None:
    finished("native", *PLAIN, pool=pool)


def test_calls_of_components_that_use_jax(pool: str) -> None:
    finished(*USING_JAX, pool=pool)


def test_calls_of_a_component_of_which_nobody_could_tell_that_it_uses_jax() -> None:
    """On one device, and where the pool has a thread left; see `register` for others."""
    finished("unseen", pool="2")


def test_calls_on_two_devices(pool: str) -> None:
    finished("native", *PLAIN, *USING_JAX, pool=pool, devices=2)


# ---- Interrupts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["python", "carrier", "nested"])
def test_a_call_that_hangs_beside_work_of_xla_is_interrupted(kind: str) -> None:
    assert jax_processes.run("interrupts.py", kind) == "interrupted\nalive\n"


# ---- The end of a process -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["native", "python", "carrier", "straight", "nested"])
def test_a_process_ends_with_calls_queued(kind: str) -> None:
    """Also while a thread that isn't waited for is in a call."""
    assert jax_processes.run("ends.py", kind) == "the end\n"


LANES = ("native", "python", "carrier")


def called_at_the_end(path: Path, lane: str, kind: str, count: int, seconds: float) -> int:
    """How often a component was called by `count` programs with which a process ends."""
    record = path / "record"
    out = jax_processes.run(
        "ends_slowly.py", lane, kind, COUNT=str(count), SECONDS=str(seconds), RECORD=str(record)
    )
    assert out == "the end\n"
    return len(record.read_text().splitlines())


@pytest.mark.parametrize("lane", LANES)
def test_a_call_that_runs_at_the_end_is_finished(lane: str, tmp_path: Path) -> None:
    """However long it takes."""
    assert called_at_the_end(tmp_path, lane, "pure", 1, 2.5) == 1


@pytest.mark.parametrize("lane", LANES)
def test_programs_with_effects_are_all_run_at_the_end(lane: str, tmp_path: Path) -> None:
    assert called_at_the_end(tmp_path, lane, "stateful", 5, 0.3) == 5


def ends_otherwise(path: Path, how: str, seconds: float) -> int:
    """How often a component was called whose call takes some seconds."""
    record = path / "record"
    out = jax_processes.run(
        "ends_otherwise.py", how, limit=60, SECONDS=str(seconds), RECORD=str(record)
    )
    assert out == "the end\n"
    return len(record.read_text().splitlines()) if record.exists() else 0


def test_an_interrupt_ends_the_waiting_and_the_process(tmp_path: Path) -> None:
    assert ends_otherwise(tmp_path, "interrupted", 1000) == 0


def test_a_call_by_a_native_component_is_finished(tmp_path: Path) -> None:
    jax_support.plugin("nested")
    assert ends_otherwise(tmp_path, "nested", 2.5) == 1


def test_programs_with_effects_are_run_where_a_native_component_came_first(tmp_path: Path) -> None:
    jax_support.plugin("stateful")
    assert ends_otherwise(tmp_path, "after_a_native_one", 0.3) == 3


def test_a_call_from_an_atexit_function_is_finished(tmp_path: Path) -> None:
    assert ends_otherwise(tmp_path, "in_an_atexit_function", 2.5) == 1


def test_a_child_does_not_wait_for_calls_of_its_parent(tmp_path: Path) -> None:
    assert ends_otherwise(tmp_path, "forked", 4) == 1


# ---- Serial components --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PLAIN)
def test_a_serial_module_is_never_entered_twice(kind: str) -> None:
    """By two threads with a program each, of which some calls are made from pool threads."""
    out = jax_processes.run("together.py", kind, NPROC="2")
    most, calls = map(int, out.split())
    assert (most, calls) == (1, 72)
