"""Modules that start processes, in a program that embeds Python as it is installed."""

from __future__ import annotations

import json
import subprocess

import pytest
from installation import ROOT, Installation, user_environment

MODULE = ROOT / "tests/python_loader/modules/processes"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_find_the_functions_of_the_module(installation: Installation, method: str) -> None:
    # They unpickle by a name in tsr_plugins, which each installation must have on their path.
    done = subprocess.run(
        [str(installation.command), "apply", str(MODULE)],
        env=user_environment(**installation.variables),
        input=json.dumps({"numbers": [1, 2, 3], "method": method}),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {"squares": [1, 4, 9], "cubes": [1, 8, 27]}
