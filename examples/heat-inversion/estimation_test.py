"""Runs the estimation and checks what it leaves: its exit status, the picture and the history.

Usage: estimation_test.py PROGRAM
"""

import csv
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGB = (8, 2)  # bits of a channel, colour type
EXPLAINED = 0.6  # noise alone gives a misfit of about 0.5


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a PNG file: kind and data."""
    at = len(PNG_SIGNATURE)
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        data = png[at + 8 : at + 8 + length]
        assert struct.pack(">I", zlib.crc32(kind + data)) == png[at + 8 + length : at + 12 + length]
        yield kind, data
        at += 12 + length


def check_picture(path: Path) -> None:
    """A whole PNG of some hundred pixels each way, which shows more than one colour."""
    png = path.read_bytes()
    assert png.startswith(PNG_SIGNATURE), f"{path} is no PNG"
    parts = list(chunks(png))
    assert parts[0][0] == b"IHDR" and parts[-1][0] == b"IEND", f"{path} is cut off"
    width, height, *colours = struct.unpack(">IIBB", parts[0][1][:10])
    assert tuple(colours) == RGB, f"{path} has bits and colour type {colours}"
    assert 400 <= width <= 4000 and 200 <= height <= 4000, f"{path} is {width} x {height}"
    pixels = zlib.decompress(b"".join(data for kind, data in parts if kind == b"IDAT"))
    assert len(pixels) == height * (1 + 3 * width), f"{path} lacks rows"
    assert len(set(pixels)) > 50, f"{path} shows next to nothing"


def check_history(path: Path) -> None:
    """Iterations from 0, each with a smaller misfit than the one before, down to the noise."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")]
    numbers = [int(row[0]) for row in rows]
    misfits = [float(row[1]) for row in rows]
    assert len(rows) > 2 and numbers == list(range(len(rows))), f"{path} lacks iterations"
    for number, (before, after) in enumerate(pairwise(misfits), start=1):
        assert after < before, f"{path}: iteration {number} goes from {before} to {after}"
    assert 0 < misfits[-1] < EXPLAINED, f"{path}: the last misfit is {misfits[-1]}"
    assert misfits[0] > 10 * misfits[-1], f"{path}: the search began at {misfits[0]}"


def main() -> int:
    (program,) = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="heat-inversion-") as folder:
        done = subprocess.run([program, "--output-dir", folder], check=False)
        if done.returncode != 0:
            return done.returncode
        check_picture(Path(folder) / "heat-inversion.png")
        check_history(Path(folder) / "convergence.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
