"""Whether the driver is as the model of one that stands for it where there is no GPU."""

from __future__ import annotations

from rows import Bench, NotRun, row


@row("the driver answers as the fake one, which the other tests of devices run on")
def answers(bench: Bench) -> str:
    import subprocess

    from driver import LIBRARY

    words = [bench.built("fake-cuda-facts"), LIBRARY]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines() or [f"nothing was said, status {done.returncode}"]
    if done.returncode == 77:
        raise NotRun(lines[-1])
    print(done.stdout)
    different = [line for line in lines if ", NOT " in line]
    assert done.returncode == 0, "; ".join([lines[-1], *different])
    return lines[-1]
