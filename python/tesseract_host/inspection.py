"""What a Python component says of itself, as a page for people or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tesseract_host._client import endpoint_names
from tesseract_host.loader import Component, openapi
from tesseract_host.loader import open as open_component
from tesseract_host.loader.component import TAKEN_BEFORE

LONGEST_DEFAULT = 24
ENDPOINTS = ("apply", "jacobian", "jvp", "vjp", "abstract_eval")
PROPERTIES = ("threads", "reentrant", "devices", "stream_ordered")


def description(component: Component) -> dict[str, Any]:
    """The description, with the endpoints there are."""
    document: dict[str, Any] = json.loads(component.describe())
    routes = document["x-routes"]
    document["x-routes"] = {name: routes[name] for name in ENDPOINTS if name in routes}
    document["endpoints"] = dict.fromkeys(document["x-routes"], "offered")
    return document


def page(component: Component) -> str:
    """The page."""
    document = description(component)
    lines = [document["name"]]
    endpoints = [
        (name, "offered", ": ".join(filter(None, (how["route"], "; ".join(how["reasons"])))))
        for name, how in document["x-routes"].items()
    ]
    for side in ("inputs", "outputs"):
        lines += ["", side, *_leaf_table(document[side])]
    lines += ["", "endpoints", *table(endpoints)]
    properties = [(name, _joined(document[name])) for name in PROPERTIES if name in document]
    return "\n".join([*lines, "", "properties", *table(properties)])


def _leaf_table(leaves: Sequence[Mapping[str, Any]]) -> list[str]:
    if not leaves:
        return ["  none"]
    rows = [("path", "type", "shape", "")]
    for leaf in leaves:
        type_ = leaf["dtype"] if "shape" in leaf else leaf["type"]
        shape = _shape(leaf["shape"]) if "shape" in leaf else ""
        rows.append((leaf["path"], "any" if type_ is None else _joined(type_), shape, _notes(leaf)))
    return table(rows)


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows with aligned columns."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _joined(value: Any) -> str:
    return ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shape(shape: Sequence[Any] | None) -> str:
    if shape is None:
        return "any rank"
    return f"[{', '.join('?' if length is None else str(length) for length in shape)}]"


def _notes(leaf: Mapping[str, Any]) -> str:
    notes = ["differentiable"] if leaf.get("differentiable") else []
    if "default" in leaf:
        text = json.dumps(leaf["default"], ensure_ascii=False, separators=(",", ":"))
        if len(text) > LONGEST_DEFAULT:
            text = text[: LONGEST_DEFAULT - 3] + "..."
        notes.append(f"default {text}")
    elif not leaf.get("required", True):
        notes.append("optional")
    if "enum" in leaf:
        notes.append(f"one of {_joined(leaf['enum'])}")
    return ", ".join(notes)


def python_source(text: str) -> Path | None:
    """The module that a source names, by itself or by its folder; None for other sources."""
    path = Path(text)
    if path.is_dir():
        path = path / "tesseract_api.py"
    return path if path.suffix == ".py" and path.is_file() else None


def main(arguments: Sequence[str]) -> int:
    """`inspect SOURCE [--json | --openapi] [--options JSON]`; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tesseract_host inspect",
        description="Show the inputs, outputs and endpoints of a tesseract_api.py.",
    )
    parser.add_argument("source", help="a tesseract_api.py, or a folder that holds one")
    parser.add_argument("--options", metavar="JSON", default="{}", help="options of the component")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the description as JSON")
    form.add_argument("--openapi", action="store_true", help="print the published schema")
    given = parser.parse_args(arguments)
    try:
        options = json.loads(given.options)
        if not isinstance(options, dict):
            raise ValueError("--options takes a JSON object")
        for name in TAKEN_BEFORE:
            options.pop(name, None)  # the host's, which say nothing of a component
        component = open_component(str(python_source(given.source) or given.source), options)
        print(_text(component, given.json, given.openapi), flush=True)
    except BrokenPipeError:  # the reader of the output has seen enough
        sys.stdout = None
        return 1
    except Exception as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        print(f"tesseract-host: {error}", file=sys.stderr)
        return 1
    return 0


def _text(component: Component, as_json: bool, as_openapi: bool) -> str:
    if as_openapi:
        return json.dumps(
            openapi.build(component, endpoint_names(component)), indent=2, ensure_ascii=False
        )
    if as_json:
        return json.dumps(description(component), ensure_ascii=False)
    return page(component)
