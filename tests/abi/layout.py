"""Checks that layout.c asserts the place of every member of every struct of the headers.

Usage: layout.py LAYOUT ABI_FOLDER
"""

import re
import sys
from pathlib import Path

from structs import all_structs


def main() -> int:
    layout, abi = sys.argv[1:]
    text = Path(layout).read_text(encoding="utf-8")
    sizes = set(re.findall(r"^SIZE\((\w+), \d+\)", text, re.MULTILINE))
    offsets = re.findall(r"^OFFSET\((\w+), (\w+), \d+\)", text, re.MULTILINE)
    wrong = 0
    structs = all_structs(Path(abi))
    for struct in structs.values():
        asserted = tuple(member for name, member in offsets if name == struct.name)
        if struct.name not in sizes or asserted != struct.members:
            print(f"{struct.name}: layout.c has not exactly its members in order: {struct.members}")
            wrong += 1
    print(f"{len(structs)} structs, {wrong} wrong")
    return 1 if wrong or not structs else 0


if __name__ == "__main__":
    sys.exit(main())
