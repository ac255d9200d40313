"""Size of the stripped library; open time and memory of a C host with one component.

    footprint.py LIBRARY PROGRAM PLUGIN [MODULE]

MODULE is opened by the interpreter that TESSERACT_HOST_PYTHON names, and the memory of that
interpreter with NumPy and pydantic alone is measured beside it.
"""

import os
import subprocess
import sys
import tempfile

RUNS = 21

ALONE = """
import numpy, pydantic
class Model(pydantic.BaseModel):
    x: int
print(int(open("/proc/self/statm").read().split()[1]) * 4)
"""


def least(command: list[str]) -> list[float]:
    """The least of each column of what the command prints, over a few processes."""
    runs = []
    for _ in range(RUNS):
        output = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append([float(word) for word in output.stdout.split()])
    return [min(column) for column in zip(*runs, strict=True)]


def main() -> None:
    library, program, plugin = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        subprocess.run(["strip", "-o", stripped, library], check=True)
        print(f"{os.path.getsize(stripped) / 1e6:.2f} MB  library, stripped")
    print(f"least of {RUNS} processes:")
    opening, _, before, after = least([program, plugin, '{"inputs":5,"outputs":3}'])
    print(f"{opening:.0f} us  first open of a native component")
    print(f"{before / 1024:.2f} MiB  resident before it, library mapped")
    print(f"{after / 1024:.2f} MiB  resident with the component")
    if len(sys.argv) < 5:
        return
    first, second, _, after = least([program, sys.argv[4]])
    print(f"{first / 1e3:.0f} ms  first open of a Python component, Python, NumPy and pydantic too")
    print(f"{second / 1e3:.1f} ms  open of a second instance")
    print(f"{after / 1024:.2f} MiB  resident with the first")
    (alone,) = least([os.environ["TESSERACT_HOST_PYTHON"], "-c", ALONE])
    print(f"{alone / 1024:.2f} MiB  resident in that Python with NumPy and pydantic alone")


if __name__ == "__main__":
    main()
