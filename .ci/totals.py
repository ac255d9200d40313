"""Counts test steps: reads "exit status, tab, JUnit file or -, tab, name" lines from stdin.

Prints a line for each step, then why tests were skipped and which failed, and last "N passed, N
failed".  Exits with 1 if anything failed or nothing passed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED_STATUS = 77


@dataclass
class Counts:
    """The tests of one step by outcome."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # the reasons, where they are told


def read_junit(path: Path) -> Counts:
    """Reads the outcome of every test case of a JUnit file."""
    counts = Counts()
    for case in ElementTree.parse(path).iter("testcase"):
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(name)
        elif (skipped := case.find("skipped")) is not None or case.get("status") == "notrun":
            reason = None if skipped is None else skipped.get("message")
            counts.skipped.append(reason or name)
        else:
            counts.passed.append(name)
    return counts


def count_step(status: int, junit: str, name: str) -> Counts:
    """Counts one step; its exit status is a failure of its own where no test case failed."""
    if junit == "-":
        if status == SKIPPED_STATUS:
            return Counts(skipped=[name])
        return Counts(failed=[name]) if status else Counts(passed=[name])
    try:
        counts = read_junit(Path(junit))
    except (OSError, ElementTree.ParseError) as error:
        return Counts(failed=[f"{name}: exit status {status}, no report ({error})"])
    if status and not counts.failed:
        counts.failed.append(f"{name}: exit status {status}")
    if not (counts.passed or counts.failed or counts.skipped):
        counts.failed.append(f"{name}: ran no test")
    return counts


def main() -> int:
    """Prints the summary of the steps on stdin."""
    total = Counts()
    for line in sys.stdin:
        status, junit, name = line.rstrip("\n").split("\t", 2)
        counts = count_step(int(status), junit, name)
        numbers = [f"{len(counts.passed)} passed", f"{len(counts.failed)} failed"]
        if counts.skipped:
            numbers.append(f"{len(counts.skipped)} skipped")
        print(f"{name:<32} {', '.join(numbers)}")
        total.passed += counts.passed
        total.failed += counts.failed
        total.skipped += counts.skipped
    for reason, number in Counter(total.skipped).items():
        print(f"skipped: {number} x {reason}")
    for name in total.failed:
        print(f"FAILED: {name}")
    print(f"{len(total.passed)} passed, {len(total.failed)} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
