"""Compares the Fortran module of the C interface with the headers that it mirrors.

A C and a Fortran program print the size of each type, offset and size of its members, what the
member `size` of a new one holds, and each constant.  Exits with 77 (skipped) where there is no
Fortran compiler.

Usage: fortran.py COMPILER_C COMPILER_FORTRAN ABI_FOLDER DLPACK_FOLDER LIBRARY
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from structs import header_paths, without_comments

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
CONSTANTS = {
    "DL_CPU": "kDLCPU",
    "DL_CUDA": "kDLCUDA",
    "DL_CUDA_HOST": "kDLCUDAHost",
    "DL_CUDA_MANAGED": "kDLCUDAManaged",
    "DL_INT": "kDLInt",
    "DL_UINT": "kDLUInt",
    "DL_FLOAT": "kDLFloat",
    "DL_BFLOAT": "kDLBfloat",
    "DL_COMPLEX": "kDLComplex",
    "DL_BOOL": "kDLBool",
}
MIRRORED_HEADERS = ("types.h", "host.h", "plugin.h")


@dataclass(frozen=True)
class Mirror:
    """What a Fortran module declares: types with their members, and constants.

    `sized` names the types whose member `size` is set in a new one.
    """

    types: dict[str, list[str]]
    sized: list[str]
    constants: list[str]


def mirror_of(text: str) -> Mirror:
    """What the module of this text declares."""
    code = re.sub(r"!.*", "", text)
    code = re.sub(r"&\s*\n\s*&?", " ", code)
    types = {}
    sized = []
    for name, body in re.findall(
        r"^ *type, *bind\(c\) *:: *(\w+)$(.*?)^ *end type", code, flags=re.DOTALL | re.MULTILINE
    ):
        members = []
        for declared in re.findall(r"::(.*)", body):
            members += [name for name, _ in declarations(declared)]
            sized += [
                name for member, value in declarations(declared) if member == "size" and value
            ]
        types[name] = members
    constants = []
    for declared in re.findall(r"^ *integer\(\w+\), *parameter *::(.*)", code, re.MULTILINE):
        constants += [name for name, _ in declarations(declared)]
    return Mirror(types, sized, constants)


def declarations(text: str) -> list[tuple[str, str]]:
    """The names that a list declares and their values, empty where there is none."""
    found = []
    for part in re.sub(r"\([^()]*\)", "", text).split(","):
        name, _, value = part.partition("=")
        found.append((name.strip(), value.strip()))
    return found


def wanted_by_headers(abi: Path) -> tuple[set[str], set[str]]:
    """The constants of the mirrored headers, and the types that have an _INIT macro there."""
    paths = [abi / "tesseract_host" / name for name in MIRRORED_HEADERS]
    text = without_comments("\n".join(path.read_text(encoding="utf-8") for path in paths))
    number = r"(?:\d+u?|\(-\d+\)|UINT64_MAX)"
    constants = set(re.findall(rf"^#define (TESSERACT_\w+) {number}\s*$", text, re.MULTILINE))
    sized = {
        name.lower() for name in re.findall(r"^#define (TESSERACT_\w+)_INIT ", text, re.MULTILINE)
    }
    return constants, sized


def c_program(mirror: Mirror, abi: Path) -> str:
    """Prints one line for each type, member, initial size and constant."""
    lines = ["#include <stdio.h>"]
    lines += [f"#include <{path.relative_to(abi)}>" for path in header_paths(abi)]
    lines.append("int main(void) {")
    for name, members in mirror.types.items():
        c_name = TYPES.get(name, name)
        lines.append(f'  printf("{name} - 0 %zu\\n", sizeof({c_name}));')
        for member in members:
            c_member = MEMBERS.get((name, member), member)
            lines.append(
                f'  printf("{name} {member} %zu %zu\\n", offsetof({c_name}, {c_member}),'
                f" sizeof((({c_name} *)0)->{c_member}));"
            )
    for name in mirror.sized:
        lines.append(f'  printf("{name} initially %zu\\n", sizeof({name}));')
    for name in mirror.constants:
        lines.append(f'  printf("{name} %lld\\n", (long long){CONSTANTS.get(name, name)});')
    return "\n".join([*lines, "  return 0;", "}", ""])


def fortran_program(mirror: Mirror, module: str) -> str:
    """The same in Fortran."""
    lines = ["program layout", f"  use {module}", "  use, intrinsic :: iso_c_binding"]
    lines.append("  implicit none")
    variables = {name: f"v{i}" for i, name in enumerate(mirror.types)}
    lines += [f"  type({name}), target :: {variable}" for name, variable in variables.items()]
    for name, members in mirror.types.items():
        v = variables[name]
        lines.append(f"  print '(a, i0, 1x, i0)', '{name} - ', 0, storage_size({v}) / 8")
        for member in members:
            lines.append(
                f"  print '(a, i0, 1x, i0)', '{name} {member} ', at(c_loc({v}%{member})) - &\n"
                f"    at(c_loc({v})), storage_size({v}%{member}) / 8"
            )
    for name in mirror.sized:
        lines.append(f"  print '(a, i0)', '{name} initially ', {variables[name]}%size")
    lines += [f"  print '(a, i0)', '{name} ', {name}" for name in mirror.constants]
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
    mirror = mirror_of(source.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        c_source, fortran_source = Path(folder) / "layout.c", Path(folder) / "layout.f90"
        c_source.write_text(c_program(mirror, abi), encoding="utf-8")
        fortran_source.write_text(fortran_program(mirror, source.stem), encoding="utf-8")
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
    constants, sized = wanted_by_headers(abi)
    for name in sorted(constants - set(mirror.constants)):
        print(f"the module has no {name}")
        wrong += 1
    for name in sorted(sized - set(mirror.sized)):
        print(f"the module does not initialise the size of {name}")
        wrong += 1
    print(f"{len(mirror.types)} types, {len(mirror.constants)} constants, {wrong} wrong")
    return 1 if wrong or not mirror.types or not constants or not sized else 0


if __name__ == "__main__":
    sys.exit(main())
