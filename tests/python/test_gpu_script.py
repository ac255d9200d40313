"""tests/gpu/run: without a GPU it says so and proves nothing, and what it would run is sound.

That its rows hold is shown on a GPU alone.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import native
import pytest

GPU = Path(__file__).parents[1] / "gpu"
FAKE_CUDA = Path(
    os.environ.get("TESSERACT_HOST_TEST_FAKE_CUDA")
    or GPU.parents[1] / "build/tests/fake_cuda/libcuda.so.1"
)
ABI = GPU.parents[1] / "abi"
MODULES = sorted(path.parent.name for path in GPU.glob("modules/*/tesseract_api.py"))


def run_script(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("CUDA_DRIVER")}
    return subprocess.run(
        [sys.executable, str(GPU / "run"), *words],
        capture_output=True,
        text=True,
        env={**kept, **variables},
        check=False,
    )


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of that name in tests/gpu."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(GPU)
    yield importlib.import_module("rows")
    for name in set(sys.modules) - before:
        if str(GPU) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]
    sys.modules.pop("checks", None)


def test_without_a_gpu_it_says_so_in_a_sentence_and_does_not_pass() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU")
    done = run_script()
    assert (done.returncode, done.stderr) == (77, "")
    assert done.stdout.startswith("No GPU that CUDA can use is here (")
    assert done.stdout.endswith("), so nothing was proved.\n")
    assert done.stdout.count("\n") == 1


def test_a_model_of_a_driver_is_no_gpu() -> None:
    done = run_script(TESSERACT_HOST_CUDA_DRIVER="libfake_cuda.so")
    assert done.returncode == 77
    assert "TESSERACT_HOST_CUDA_DRIVER" in done.stdout


def test_an_unknown_check_is_refused_with_those_there_are() -> None:
    done = run_script("--list", "nonsense")
    assert done.returncode == 2
    assert "nonsense" in done.stderr and "pointers" in done.stderr


def test_every_claim_is_listed_once(rows: ModuleType) -> None:
    listed = run_script("--list").stdout.splitlines()
    assert listed == [
        f"{check}: {row.claim}" for check in rows.checks() for row in rows.rows_of(check)
    ]
    assert len(set(listed)) == len(listed)
    assert all(rows.rows_of(check) for check in rows.checks())


def test_outcomes_are_not_mixed_up(rows: ModuleType, tmp_path: Path) -> None:
    def missing(bench: object) -> None:
        raise rows.NotRun("torch sees no GPU")

    def wrong(bench: object) -> None:
        raise AssertionError("1 copy\nin two lines")

    bench = rows.Bench(tmp_path)
    for needs, prove, expected in (
        ((), lambda bench: "0x7f", ("proved", "0x7f")),
        ((), lambda bench: None, ("proved", "")),
        ((), missing, ("not run", "torch sees no GPU")),
        ((), wrong, ("FAILED", "AssertionError: 1 copy")),
        (("no_such_package",), wrong, ("not run", "no_such_package is not installed")),
        ((), lambda bench: bench.built("libx.so"), ("not run", "libx.so was not built: ")),
    ):
        outcome, detail = rows.outcome_of(rows.Row("claim", needs, prove), bench)
        assert outcome == expected[0]
        assert detail.startswith(expected[1])


def test_rows_of_a_process_that_dies_have_failed(
    rows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = importlib.machinery.SourceFileLoader("gpu_run", str(GPU / "run"))
    run = ModuleType("gpu_run")
    run.__file__ = loader.path
    loader.exec_module(run)
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -SEGV $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    outcomes = list(run.outcomes("pointers", tmp_path, {}))
    assert [claim for claim, _, _ in outcomes] == [row.claim for row in rows.rows_of("pointers")]
    assert {outcome for _, outcome, _ in outcomes} == {"FAILED"}
    assert {detail for _, _, detail in outcomes} == {"the process ended with status -11"}


@pytest.mark.parametrize("path", sorted(GPU.rglob("*.py")), ids=lambda path: path.stem)
def test_every_file_compiles(path: Path, tmp_path: Path) -> None:
    py_compile.compile(str(path), cfile=str(tmp_path / "compiled.pyc"), doraise=True)


@pytest.mark.parametrize("module", MODULES)
def test_modules_open_where_their_library_is(module: str) -> None:
    library = module.removeprefix("with_")
    if library != module:
        pytest.importorskip(library)
    from tesseract_host import Tesseract

    component = Tesseract.from_tesseract_api(GPU / "modules" / module / "tesseract_api.py")
    assert component.available_endpoints


def test_the_program_in_cuda_compiles(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="DLPack's header is looked for there")
    if nvcc is None:
        pytest.skip("there is no nvcc")
    include = Path(tvm_ffi.__file__).parent / "include"
    flags = ["-std=c++20", "-arch=sm_90", "-I", ABI, "-I", include, "-Xcompiler=-Wall,-Wextra"]
    source, target = GPU / "native.cu", tmp_path / "native.o"
    done = subprocess.run(
        [nvcc, *flags, "-Werror=all-warnings", "-c", source, "-o", target],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Rows that need neither kernels nor the libraries of a GPU: the model of a driver serves them too.
ON_THE_MODEL = {
    "model": ["the driver answers as the fake one, which the other tests of devices run on"],
    "pointers": [
        "a Python caller's device array reaches a module at its address, without a copy",
        "a C caller's device tensor reaches a module at its address, without a copy",
        "100 calls of a native component on device arrays make no copy that is counted",
        "a module that keeps an array beyond the call is told of by name",
    ],
    "staging": [
        "a native component for host arrays is given a copy of each, once, which is counted"
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `run` builds for such rows, as the tests' build has it."""
    files = [FAKE_CUDA.parent / "fake-cuda-facts"]
    files += [native.plugin(name) for name in ("double", "nothing")]
    for file in files:
        if not file.exists():
            pytest.skip(f"{file} is not built")
        (tmp_path / file.name).symlink_to(file)
    return tmp_path


@pytest.mark.parametrize("check", ON_THE_MODEL)
def test_rows_that_a_model_can_run_hold_there(check: str, folder: Path) -> None:
    results = folder / "results"
    words = [sys.executable, str(GPU / "rows.py"), check, str(folder), str(results)]
    variables = {"TESSERACT_HOST_CUDA_DRIVER": str(FAKE_CUDA), "JAX_PLATFORMS": "cpu"}
    subprocess.run(words, env={**os.environ, **variables}, capture_output=True, check=True)
    outcomes = {row[0]: row[1:] for row in map(json.loads, results.read_text().splitlines())}
    for claim in ON_THE_MODEL[check]:
        assert outcomes[claim][0] == "proved", outcomes[claim]
    others = {outcomes[claim][0] for claim in outcomes if claim not in ON_THE_MODEL[check]}
    assert others <= {"not run"}, outcomes
