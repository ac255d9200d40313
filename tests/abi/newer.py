"""Writes headers of a next version: every struct that may grow has one member more.

Usage: newer.py ABI_FOLDER OUTPUT_FOLDER STAMP
"""

import re
import sys
from pathlib import Path

from structs import header_paths, structs_of

MEMBER = "  uint64_t newer_member; /* of the next version */\n"


def grown(text: str) -> str:
    """A header with a member appended to each struct, its initialisers, and the next version."""
    for struct in structs_of(text):
        if struct.grows:
            head = rf"(struct {struct.name} \{{.*?\n)(\}} ?(?:\w+)?;)"
            text = re.sub(head, rf"\g<1>{MEMBER}\g<2>", text, count=1, flags=re.DOTALL)
    text = re.sub(
        r"(#define TESSERACT_\w+_INIT(?: \\\n| )\s*\{.*)\}$", r"\g<1>, 0}", text, flags=re.MULTILINE
    )
    return re.sub(r"(#define TESSERACT_ABI_MAX) 1u", r"\g<1> 2u", text)


def main() -> int:
    abi, output, stamp = (Path(argument) for argument in sys.argv[1:])
    for path in header_paths(abi):
        target = output / path.relative_to(abi)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = grown(path.read_text(encoding="utf-8"))
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    stamp.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
