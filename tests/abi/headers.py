"""Compiles each public header alone with one compiler, in every language and standard it is for.

C++ headers are compiled with and without RTTI.

Exits with 77 (skipped) where the compilers are missing.

Usage: headers.py COMPILER_C COMPILER_CXX ABI_FOLDER DLPACK_FOLDER
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
C_STANDARDS = ["c99", "c11", "c17"]
CXX_STANDARDS = ["c++11", "c++14", "c++17", "c++20"]
CXX_ONLY = ["c++20", "c++20 -fno-rtti"]


def compiles(command: list[str], source: Path) -> bool:
    """Whether a source compiles; what the compiler says goes to the standard error."""
    return subprocess.run([*command, "-fsyntax-only", str(source)], check=False).returncode == 0


def main() -> int:
    compiler_c, compiler_cxx, abi, dlpack = sys.argv[1:]
    if not shutil.which(compiler_c) or not shutil.which(compiler_cxx):
        print(f"no {compiler_c} and {compiler_cxx}")
        return SKIPPED
    include = [f"-I{abi}", "-isystem", dlpack]
    headers = [path.relative_to(abi) for path in sorted(Path(abi).glob("tesseract_host/**/*.h*"))]
    if not headers:
        print(f"no headers in {abi}")
        return 1
    failed = 0
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            # Twice: a header guards itself.
            text = f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n"
            for compiler, suffix, standards in (
                (compiler_c, "c", C_STANDARDS if header.suffix == ".h" else []),
                (compiler_cxx, "cpp", CXX_STANDARDS if header.suffix == ".h" else CXX_ONLY),
            ):
                source = Path(folder) / f"alone.{suffix}"
                source.write_text(text, encoding="utf-8")
                for standard in standards:
                    tried += 1
                    if not compiles(
                        [compiler, *f"-std={standard}".split(), *WARNINGS, *include], source
                    ):
                        print(f"{header} does not compile as {standard} by {compiler}")
                        failed += 1
    print(f"{len(headers)} headers, {tried} compilations, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
