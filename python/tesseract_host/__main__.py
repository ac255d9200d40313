"""`python -m tesseract_host`: the command, with modules inspected by this interpreter."""

from __future__ import annotations

import sys

from tesseract_host import cli

if __name__ == "__main__":
    sys.exit(cli.run_module(sys.argv[1:]))
