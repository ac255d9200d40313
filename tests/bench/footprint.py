"""Size of the stripped library; open time and memory of a C host with one native component."""

import os
import subprocess
import sys
import tempfile

RUNS = 21


def main() -> None:
    library, program, plugin = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        subprocess.run(["strip", "-o", stripped, library], check=True)
        print(f"{os.path.getsize(stripped) / 1e6:.2f} MB  library, stripped")
    runs = []
    for _ in range(RUNS):
        output = subprocess.run([program, plugin], check=True, capture_output=True, text=True)
        runs.append([float(word) for word in output.stdout.split()])
    opening, before, after = (min(column) for column in zip(*runs, strict=True))
    print(f"{opening:.0f} us  first open of a native component, minimum of {RUNS} processes")
    print(f"{before / 1024:.2f} MiB  resident before it, library mapped")
    print(f"{after / 1024:.2f} MiB  resident with the component")


if __name__ == "__main__":
    main()
