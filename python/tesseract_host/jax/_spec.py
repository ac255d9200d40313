"""What is static about calls: the component, the structure of inputs and outputs, the options."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, Literal

from tesseract_host.jax import _schema
from tesseract_host.jax._layout import Layout
from tesseract_host.jax._outputs import Outputs, Type

Lane = Literal["native", "python", "carrier"]

# Outputs that may have the memory of inputs: (output, input).
Pairs = tuple[tuple[str, str], ...]

# The leaves whose first axis is the component's own batch axis: patterns of inputs, of outputs.
Rows = tuple[frozenset[str], frozenset[str]]

VMAP_METHODS = (None, "sequential", "auto_experimental", "expand_dims", "broadcast_all")

# Structures and signatures remembered for each component; the oldest go first.
REMEMBERED = 4096

# The names of endpoints as clients say them.
LONG = {
    "apply": "apply",
    "jvp": "jacobian_vector_product",
    "vjp": "vector_jacobian_product",
    "jacobian": "jacobian",
}


class Handle:
    """One opened component and what has been found out about it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.name: str = _name(client)
        self.kind: str = getattr(client, "kind", "python")
        self.endpoints = frozenset(client.names)
        self.inputs, self.outputs = _schema.of_client(client)
        self.renames = _schema.renames(client)
        self.stateful = False
        self.zero_tangents = False
        self.lane: Lane | None = None  # None: chosen by what the component is
        self.in_place: Pairs = ()
        self.rows: Rows = described_rows(self)
        self.layouts: dict[Any, Layout] = {}
        self.specs: dict[Any, Spec] = {}

    def layout(self, treedef: Any) -> Layout:
        """Where the leaves of inputs of this structure stand."""
        found = self.layouts.get(treedef)
        if found is None:
            found = Layout(treedef, self.inputs, self.name)
            remember(self.layouts, treedef, found)
        return found

    def offers(self, endpoint: str) -> bool:
        """Whether the component has an endpoint."""
        return LONG.get(endpoint, endpoint) in self.endpoints


class Spec:
    """The static part of a call, a parameter of the primitives.

    Hashable; equal if the component is the same one and everything else has the same value.  Keeps
    the component alive, and so does what was compiled with it.
    """

    __slots__ = (
        "_hash",
        "_key",
        "all_outputs",
        "handle",
        "layout",
        "leaves",
        "mask",
        "options",
        "outputs",
        "paths",
        "statics",
        "types",
    )

    def __init__(
        self,
        handle: Handle,
        layout: Layout,
        mask: tuple[bool, ...],
        statics: tuple[Any, ...],
        types: tuple[Type, ...],
        outputs: Outputs,
        options: Options,
        key: tuple[Any, ...],
    ) -> None:
        self.handle = handle
        self.layout = layout
        self.mask = mask
        self.statics = statics
        self.types = types  # of the operands, without batch axes
        self.outputs = outputs
        self.options = options
        places = [place for place, array in zip(layout.places, mask, strict=True) if array]
        self.paths = tuple(place.path for place in places)
        self.leaves = tuple(place.leaf for place in places)  # what the schema says of the operands
        self.all_outputs = tuple(range(len(outputs.types)))
        self._key = (id(handle), key, outputs.types, outputs.treedef)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Spec) and self._hash == other._hash and self._key == other._key

    def __repr__(self) -> str:
        return f"<{self.handle.name}>"

    def of_shapes(self, types: tuple[Type, ...], results: tuple[Type, ...]) -> Spec:
        """The same call with other types of operands and results."""
        outputs = dataclasses.replace(self.outputs, types=results)
        key = (self._key[1], types)
        return Spec(
            self.handle, self.layout, self.mask, self.statics, types, outputs, self.options, key
        )

    def tree(self, operands: Any) -> Any:
        """The inputs, with these in place of the arrays."""
        return self.layout.filled(self.mask, self.statics, operands)


class Options:
    """The options of `apply_tesseract` and of `register` that calls are compiled with."""

    __slots__ = (
        "check_statics",
        "in_place",
        "lane",
        "materialize",
        "rows",
        "staged",
        "stateful",
        "vmap_method",
        "zero_tangents",
    )

    def __init__(
        self,
        vmap_method: str | None,
        materialize: bool | None,
        check_statics: bool,
        staged: bool,
        handle: Handle,
    ) -> None:
        self.vmap_method = vmap_method
        self.materialize = materialize
        self.check_statics = check_statics
        self.staged = staged  # arrays on a device go through the host, whatever the component takes
        self.stateful = handle.stateful
        self.zero_tangents = handle.zero_tangents
        self.lane = handle.lane
        self.in_place = handle.in_place
        self.rows = handle.rows


_lock = threading.Lock()


def handle_of(client: Any) -> Handle:
    """The one handle of a client."""
    found: Handle | None = getattr(client, "_jax_handle", None)
    if found is None:
        with _lock:
            found = getattr(client, "_jax_handle", None)
            if found is None:
                found = client._jax_handle = Handle(client)
    return found


def _name(client: Any) -> str:
    component = getattr(client, "component", None)
    name = getattr(component, "name", None) or getattr(client, "name", None)
    return str(name or client.description.get("name"))


def described_rows(handle: Handle) -> Rows:
    """Those that the component's description says."""
    name = handle.client.description.get("batch") if handle.kind == "native" else None
    inputs, outputs = (
        frozenset(
            path
            for path, leaf in root.leaves()
            if name is not None and leaf.shape and leaf.shape[0] == name
        )
        for root in (handle.inputs, handle.outputs)
    )
    return inputs, outputs


def remember(table: dict[Any, Any], key: Any, value: Any) -> None:
    """Puts something into a table that doesn't grow for ever."""
    while len(table) >= REMEMBERED:
        table.pop(next(iter(table)), None)
    table[key] = value
