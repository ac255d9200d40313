"""Checks that the names of the C headers differ when case is ignored, as Fortran does.

Usage: names.py ABI_FOLDER
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from structs import header_paths, names_of


def main() -> int:
    abi = Path(sys.argv[1])
    spellings: dict[str, set[str]] = defaultdict(set)
    for path in header_paths(abi):
        for name in names_of(path.read_text(encoding="utf-8")):
            spellings[name.lower()].add(name)
    wrong = 0
    for names in spellings.values():
        if len(names) > 1:
            print("differ by case only: " + ", ".join(sorted(names)))
            wrong += 1
    modules = 0
    for path in sorted(abi.glob("fortran/*.f90")):
        for module in re.findall(r"^module (\w+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            modules += 1
            if module.lower() in spellings:
                print(f"the Fortran module {module} has a name of the C headers")
                wrong += 1
    print(f"{len(spellings)} names, {modules} Fortran modules, {wrong} wrong")
    return 1 if wrong or not spellings or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
