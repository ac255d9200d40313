"""Compares the layout of the Fortran module's types with that of the C structs they mirror.

For each type of the module a C and a Fortran program print its size and, of each member, offset and
size.  Exits with 77 (skipped) where there is no Fortran compiler.

Usage: fortran.py COMPILER_C COMPILER_FORTRAN ABI_FOLDER DLPACK_FOLDER LIBRARY
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from structs import header_paths

SKIPPED = 77
# What has another name in DLPack's header, where two members lie in a struct of their own.
TYPES = {
    "dl_device": "DLDevice",
    "dl_data_type": "DLDataType",
    "dl_tensor": "DLTensor",
    "dl_managed_tensor_versioned": "DLManagedTensorVersioned",
}
MEMBERS = {
    ("dl_managed_tensor_versioned", "major"): "version.major",
    ("dl_managed_tensor_versioned", "minor"): "version.minor",
    ("dl_managed_tensor_versioned", "tensor"): "dl_tensor",
}


def mirrored_types(text: str) -> dict[str, list[str]]:
    """The interoperable types of a module and their members."""
    code = re.sub(r"!.*", "", text)
    code = re.sub(r"&\s*\n\s*&?", " ", code)
    found = {}
    for name, body in re.findall(
        r"^ *type, *bind\(c\) *:: *(\w+)$(.*?)^ *end type", code, flags=re.DOTALL | re.MULTILINE
    ):
        members = []
        for declared in re.findall(r"::(.*)", body):
            without_values = re.sub(r"=[^,]*", "", re.sub(r"\([^()]*\)", "", declared))
            members += [part.strip() for part in without_values.split(",")]
        found[name] = members
    return found


def c_program(types: dict[str, list[str]], abi: Path) -> str:
    """Prints `type member offset size` for each member and `type - 0 size` for each type."""
    lines = ["#include <stdio.h>"]
    lines += [f"#include <{path.relative_to(abi)}>" for path in header_paths(abi)]
    lines.append("int main(void) {")
    for name, members in types.items():
        c_name = TYPES.get(name, name)
        lines.append(f'  printf("{name} - 0 %zu\\n", sizeof({c_name}));')
        for member in members:
            c_member = MEMBERS.get((name, member), member)
            lines.append(
                f'  printf("{name} {member} %zu %zu\\n", offsetof({c_name}, {c_member}),'
                f" sizeof((({c_name} *)0)->{c_member}));"
            )
    return "\n".join([*lines, "  return 0;", "}", ""])


def fortran_program(types: dict[str, list[str]], module: str) -> str:
    """The same in Fortran."""
    lines = ["program layout", f"  use {module}", "  use, intrinsic :: iso_c_binding"]
    lines.append("  implicit none")
    lines += [f"  type({name}), target :: v{i}" for i, name in enumerate(types)]
    for i, (name, members) in enumerate(types.items()):
        lines.append(f"  print '(a, i0, 1x, i0)', '{name} - ', 0, storage_size(v{i}) / 8")
        for member in members:
            lines.append(
                f"  print '(a, i0, 1x, i0)', '{name} {member} ', at(c_loc(v{i}%{member})) - &\n"
                f"    at(c_loc(v{i})), storage_size(v{i}%{member}) / 8"
            )
    lines += [
        "contains",
        "  integer(c_intptr_t) function at(pointer)",
        "    type(c_ptr), intent(in) :: pointer",
        "    at = transfer(pointer, at)",
        "  end function",
        "end program",
        "",
    ]
    return "\n".join(lines)


def output_of(command: list[str], program: Path) -> list[str]:
    """Compiles a program and returns the lines it prints."""
    subprocess.run([*command, "-o", str(program)], check=True, cwd=program.parent)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return printed.splitlines()


def main() -> int:
    compiler_c, compiler_fortran, abi_folder, dlpack, library = sys.argv[1:]
    if shutil.which(compiler_fortran) is None:
        print(f"no {compiler_fortran}")
        return SKIPPED
    abi = Path(abi_folder).resolve()
    library = str(Path(library).resolve())
    source = abi / "fortran" / "tesseract_host_c.f90"
    types = mirrored_types(source.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        c_source, fortran_source = Path(folder) / "layout.c", Path(folder) / "layout.f90"
        c_source.write_text(c_program(types, abi), encoding="utf-8")
        fortran_source.write_text(fortran_program(types, source.stem), encoding="utf-8")
        include = [f"-I{abi}", "-isystem", dlpack]
        in_c = output_of([compiler_c, *include, str(c_source)], Path(folder) / "in_c")
        fortran_sources = [str(source), str(fortran_source)]
        in_fortran = output_of(
            [compiler_fortran, *fortran_sources, library, f"-Wl,-rpath,{Path(library).parent}"],
            Path(folder) / "in_fortran",
        )
    wrong = 0
    for c_line, fortran_line in zip(in_c, in_fortran, strict=True):
        if c_line != fortran_line:
            print(f"C: {c_line}    Fortran: {fortran_line}")
            wrong += 1
    print(f"{len(types)} types, {len(in_c)} lines, {wrong} differ")
    return 1 if wrong or not types else 0


if __name__ == "__main__":
    sys.exit(main())
