"""Reads the structs, functions and names of the public C headers, which keep to one style."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Struct:
    """A struct of a header and the names of its members in order."""

    name: str
    members: tuple[str, ...]

    @property
    def grows(self) -> bool:
        """Whether it begins with its size, so that members may be appended."""
        return self.members[0] == "size"


def header_paths(abi: Path) -> list[Path]:
    """The C headers."""
    return sorted(abi.glob("tesseract_host/**/*.h"))


def without_comments(text: str) -> str:
    """The text with its C comments blanked."""
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def structs_of(text: str) -> list[Struct]:
    """The structs that a header defines."""
    found = []
    pattern = r"(?:typedef )?struct (tesseract_\w+) \{(.*?)\n\} ?(?:\w+)?;"
    for name, body in re.findall(pattern, without_comments(text), flags=re.DOTALL):
        found.append(
            Struct(name, tuple(member_of(part) for part in body.split(";") if part.strip()))
        )
    return found


def member_of(declaration: str) -> str:
    """The name that a member's declaration declares."""
    function = re.search(r"\(\*(\w+)\)\(", declaration)
    match = function or re.search(r"(\w+)\s*$", declaration)
    if match is None:
        raise ValueError(f"not understood: {declaration}")
    return match[1]


def all_structs(abi: Path) -> dict[str, Struct]:
    """All structs of all headers by name."""
    found = {}
    for path in header_paths(abi):
        for struct in structs_of(path.read_text(encoding="utf-8")):
            found[struct.name] = struct
    return found


def functions_of(text: str) -> list[str]:
    """The functions that a header declares as the library's."""
    return re.findall(
        r"^TESSERACT_API [^;(]*?\b(tesseract_\w+)\(", without_comments(text), re.MULTILINE
    )


def names_of(text: str) -> set[str]:
    """Every identifier of ours in a header."""
    return set(re.findall(r"\btesseract_\w+", without_comments(text), flags=re.IGNORECASE))
