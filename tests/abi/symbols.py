"""Compares what the library exports with symbols.txt and with what the headers declare.

Usage: symbols.py NM LIBRARY SYMBOLS ABI_FOLDER
"""

import subprocess
import sys
from pathlib import Path

from structs import functions_of, header_paths


def difference(what: str, found: set[str], expected: set[str]) -> int:
    """Prints how two sets differ; the number of differences."""
    for name in sorted(found - expected):
        print(f"{name}: {what}, but not in the committed list")
    for name in sorted(expected - found):
        print(f"{name}: in the committed list, but not {what}")
    return len(found ^ expected)


def main() -> int:
    nm, library, symbols, abi = sys.argv[1:]
    listed = set(Path(symbols).read_text(encoding="utf-8").split())
    command = [nm, "-D", "--defined-only", library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    exported = {line.split()[-1] for line in output.splitlines()}
    declared: set[str] = set()
    for path in header_paths(Path(abi)):
        declared.update(functions_of(path.read_text(encoding="utf-8")))
    wrong = difference("exported", exported, listed) + difference("declared", declared, listed)
    print(f"{len(listed)} symbols, {wrong} differences")
    return 1 if wrong or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
