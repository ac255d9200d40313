"""The grammar of leaf paths: `a.b`, `xs.[0]`, `params.{any text}`."""

from __future__ import annotations

import re
from typing import NamedTuple

INDEX = re.compile(r"\[([0-9]+)\]")


class Step(NamedTuple):
    """One segment: `kind` is "name", "index" or "key"."""

    kind: str
    value: str | int

    def __str__(self) -> str:
        if self.kind == "index":
            return f"[{self.value}]"
        if self.kind == "key":
            return "{" + escape_key(str(self.value)) + "}"
        return str(self.value)


def escape_key(key: str) -> str:
    """A dictionary key as it stands between braces."""
    return re.sub(r"([{}\\])", r"\\\1", key)


def split(path: str) -> list[str]:
    """The segments of a path, escapes kept; dots between braces belong to a key."""
    parts, start, depth, position = [], 0, 0, 0
    while position < len(path):
        char = path[position]
        if char == "\\":
            position += 1
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        elif char == "." and depth == 0:
            parts.append(path[start:position])
            start = position + 1
        position += 1
    parts.append(path[start:])
    return parts


def parse_segment(segment: str) -> Step:
    """One segment; ValueError if it is malformed."""
    index = INDEX.fullmatch(segment)
    if index:
        return Step("index", int(index.group(1)))
    if len(segment) > 2 and segment[0] == "{" and segment[-1] == "}":
        return Step("key", re.sub(r"\\(.)", r"\1", segment[1:-1], flags=re.DOTALL))
    if segment.isidentifier():
        return Step("name", segment)
    raise ValueError(f"{segment!r} is no segment of a path")


def parse(path: str) -> tuple[Step, ...]:
    """All segments of a path; ValueError if one is malformed."""
    return tuple(parse_segment(segment) for segment in split(path))


def join(steps: tuple[Step, ...]) -> str:
    """The path of these segments."""
    return ".".join(str(step) for step in steps)
