"""Passes on those file names of stdin that a build folder compiles; others can't be linted."""

import json
import sys
from pathlib import Path


def main() -> None:
    """Filters file names relative to the working directory; the argument is the build folder."""
    build = Path(sys.argv[1])
    entries = json.loads((build / "compile_commands.json").read_text())
    compiled = {(Path(entry["directory"]) / entry["file"]).resolve() for entry in entries}
    names = [name for name in sys.stdin.read().split() if Path(name).resolve() in compiled]
    if not names:
        sys.exit(f"{build} compiles none of the files given")
    print("\n".join(names))


if __name__ == "__main__":
    main()
