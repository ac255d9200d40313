"""Components that are no Python modules, as `Tesseract` calls them: by prepared calls of the host.

A call is prepared for arguments of one kind, and remembered with a pattern of them.  What costs is
to be like no call before: other dtypes, other values that are no arrays.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tesseract_host import _identity, _leaf_tree
from tesseract_host._failures import InputError
from tesseract_host._flattening import Flattened, Pattern, Reader
from tesseract_host.loader.calls import SHORT

if TYPE_CHECKING:
    from tesseract_host._host import HostComponent

# The names that clients see, with TESSERACT_ENDPOINT_…
NUMBERS = {
    "apply": 1,
    "jacobian": 4,
    "jacobian_vector_product": 2,
    "vector_jacobian_product": 3,
    "abstract_eval": 5,
}

MOST_WAYS = 16  # that a component remembers calls for


@dataclass(frozen=True)
class Way:
    """How calls are made: on a stream, 0 for the one that the arrays are ready on; without copies;
    with arrays on a device staged through the host.
    """

    stream: int = 0
    allow_copy: bool = True
    staged: bool = False


class NativeClient:
    """One component, opened by the host, which makes its calls one at a time where that is due."""

    kind = "native"
    uses_jax = False
    output_format = None

    def __init__(
        self,
        source: str | os.PathLike[str],
        options: Mapping[str, Any],
        derive: bool,
        log: Callable[[int, str], Any],
    ) -> None:
        from tesseract_host import _host

        self._identity: str | None = None
        self._options = {**options, "derive": derive}
        self._source = os.fspath(source)
        self._host = _host.open(source, {"loader": "native", **options}, log)
        self.name = self._host.name
        offered = self.description["endpoints"]
        self.names = [
            name
            for name in ("apply", *_DERIVATIVES, "health", "abstract_eval", "test")
            if name in ("health", "test") or _is_there(offered, name, derive)
        ]
        self._ways: dict[Way, dict[str, Callable[..., Any]]] = {}
        self._callers = self.callers(Way())

    @property
    def gpu_transport(self) -> str:
        """Whether it takes arrays in CUDA memory as they are: "cuda_ipc", else "none"."""
        return "cuda_ipc" if "cuda" in self.description["devices"] else "none"

    @property
    def description(self) -> dict[str, Any]:
        """The description, as the C interface has it: leaf tables, endpoints, threads."""
        return self._host.description

    @property
    def openapi(self) -> dict[str, Any]:
        """The published schema."""
        return self._host.openapi

    @property
    def identity(self) -> str:
        """A name that tells it from all others in this process, and that an equal component opened
        in the same order has in another process.
        """
        if self._identity is not None:
            return self._identity
        text = json.dumps({**self.description, "source": ""}, sort_keys=True)
        return _identity.take(self, self.name, self._source, text, self._options)

    def host(self) -> HostComponent:
        """The component as the host has it."""
        return self._host

    def callers(self, way: Way) -> dict[str, Callable[..., Any]]:
        """The endpoints as functions of their payloads' parts in order, for calls of one way."""
        found = self._ways.get(way)
        if found is None:
            calls = Calls(self._host, way)
            found = {name: calls.endpoint(name) for name in self.names if name in NUMBERS}
            while len(self._ways) >= MOST_WAYS:
                self._ways.pop(next(iter(self._ways)), None)
            self._ways[way] = found
        return found

    def caller(self, endpoint: str) -> Callable[..., Any]:
        """The shortest way to call an endpoint, by the parts of its payload in order."""
        return self._callers[endpoint]

    def call(
        self,
        endpoint: str,
        payload: dict[str, Any],
        run_id: str | None = None,
        callers: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """Calls an endpoint, by one of `callers`; native components have no runs."""
        caller = (callers or self._callers).get(endpoint)
        if caller is None:
            raise self._lacks(endpoint)
        return caller(*payload.values())

    def test(self, specification: Any) -> None:
        """Makes a regression test; see `regression.run_native`."""
        from tesseract_host import regression

        regression.run_native(self, specification)

    @property
    def input_schema(self) -> NoReturn:
        """NotImplementedError."""
        raise self._no_classes("input_schema")

    @property
    def output_schema(self) -> NoReturn:
        """NotImplementedError."""
        raise self._no_classes("output_schema")

    def _no_classes(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{what}: {self.name} is a native component, which has no pydantic classes; see "
            "openapi_schema"
        )

    def _lacks(self, endpoint: str) -> Exception:
        text = f"{self.name} has no {endpoint}; it has {', '.join(self.names)}"
        derived = self.description["endpoints"].get(SHORT.get(endpoint, endpoint))
        if derived is not None:
            text += f"; it can be {derived}: open the component with derive=True"
        return RuntimeError(text) if endpoint == "abstract_eval" else NotImplementedError(text)


_DERIVATIVES = ("jacobian", "jacobian_vector_product", "vector_jacobian_product")


def _is_there(offered: Mapping[str, str], name: str, derive: bool) -> bool:
    how = offered.get(SHORT.get(name, name))
    return how is not None and (derive or how == "offered" or name == "abstract_eval")


class Calls:
    """What becomes of arguments that no remembered call serves."""

    def __init__(self, host: HostComponent, way: Way) -> None:
        from tesseract_host import _host

        self._native = host._native
        self._way = way
        self._flags = (not way.allow_copy) * _host.NO_COPY | way.staged * _host.STAGED
        self._reader = Reader(_host.binding().given, way.stream, way.allow_copy)
        self._name = host.name
        self._inputs = _leaf_tree.tree(host.description["inputs"])
        self._outputs = _leaf_tree.tree(host.description["outputs"])
        self._order = list(
            dict.fromkeys(leaf["path"].partition(".")[0] for leaf in host.description["outputs"])
        )

    def endpoint(self, name: str) -> Any:
        """A function of the endpoint's arguments by position, which remembers calls."""
        from tesseract_host._host import binding

        general = {
            "apply": self._apply,
            "jacobian": self._jacobian,
            "jacobian_vector_product": self._jvp,
            "vector_jacobian_product": self._vjp,
            "abstract_eval": self._abstract_eval,
        }
        finish = self._finish if name in ("apply", "abstract_eval") else _too_many
        return binding().Endpoint(general[name], finish, self._way.stream)

    # ---- Endpoints -----------------------------------------------------------------------------

    def _apply(self, endpoint: Any, inputs: Any) -> Any:
        flat = self._flattened("apply", inputs)
        call = self._prepare("apply", flat, None, None)
        form = _form(list(call.of))
        return self._run(endpoint, call, flat, (flat.pattern,), form)

    def _jacobian(self, endpoint: Any, inputs: Any, jac_inputs: Any, jac_outputs: Any) -> Any:
        flat = self._flattened("jacobian", inputs)
        wrt = self._named("jacobian", "jac_inputs", jac_inputs)
        of = self._named("jacobian", "jac_outputs", jac_outputs)
        call = self._prepare("jacobian", flat, of, wrt)
        rows = tuple(
            ("dict", wrt, tuple(("out", o * len(wrt) + i) for i in range(len(wrt))))
            for o in range(len(of))
        )
        patterns = (flat.pattern, _names_pattern(jac_inputs), _names_pattern(jac_outputs))
        return self._run(endpoint, call, flat, patterns, ("dict", of, rows))

    def _jvp(
        self, endpoint: Any, inputs: Any, jvp_inputs: Any, jvp_outputs: Any, tangents: Any
    ) -> Any:
        name = "jacobian_vector_product"
        flat = self._flattened(name, inputs)
        wrt = self._named(name, "jvp_inputs", jvp_inputs)
        of = self._named(name, "jvp_outputs", jvp_outputs)
        first = len(flat.arrays)
        seeds, pattern = self._seeds(name, "tangent_vector", tangents, wrt, self._inputs, first)
        call = self._prepare(name, flat, of, wrt, seeds)
        patterns = (flat.pattern, *map(_names_pattern, (jvp_inputs, jvp_outputs)), pattern)
        return self._run(endpoint, call, flat, patterns, _by_path(of), seeds)

    def _vjp(
        self, endpoint: Any, inputs: Any, vjp_inputs: Any, vjp_outputs: Any, cotangents: Any
    ) -> Any:
        name = "vector_jacobian_product"
        flat = self._flattened(name, inputs)
        wrt = self._named(name, "vjp_inputs", vjp_inputs)
        of = self._named(name, "vjp_outputs", vjp_outputs)
        first = len(flat.arrays)
        seeds, pattern = self._seeds(name, "cotangent_vector", cotangents, of, self._outputs, first)
        call = self._prepare(name, flat, of, wrt, seeds)
        patterns = (flat.pattern, *map(_names_pattern, (vjp_inputs, vjp_outputs)), pattern)
        return self._run(endpoint, call, flat, patterns, _by_path(wrt), seeds)

    def _abstract_eval(self, _endpoint: Any, inputs: Any) -> Any:
        flat = self._flattened("abstract_eval", inputs)
        call = self._prepare("abstract_eval", flat, None, None)
        return self._finish(call, *call.run(tuple(flat.arrays), self._way.stream))

    # ---- Their parts ---------------------------------------------------------------------------

    def _flattened(self, endpoint: str, inputs: Any) -> Flattened:
        with self._named_errors(endpoint):
            return Flattened(inputs, self._inputs, self._reader, endpoint == "abstract_eval")

    @contextlib.contextmanager
    def _named_errors(self, endpoint: str) -> Any:
        try:
            yield
        except InputError as error:
            text = f"{self._name}: {endpoint}: {error}"
            raise InputError(text, error.path) from error.__cause__

    def _named(self, endpoint: str, what: str, paths: Any) -> tuple[str, ...]:
        """Paths, each of them once."""
        fits = not isinstance(paths, str | bytes) and hasattr(paths, "__iter__")
        names = tuple(dict.fromkeys(paths)) if fits else ()
        if isinstance(paths, set | frozenset):
            names = tuple(sorted(names, key=str))
        if not fits or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"{self._name}: {endpoint}: {what} must be a collection of paths, not {paths!r:.80}"
            )
        return names

    def _seeds(
        self,
        endpoint: str,
        what: str,
        vector: Any,
        names: tuple[str, ...],
        tree: _leaf_tree.Node,
        first: int,
    ) -> tuple[tuple[Any, ...], Pattern]:
        """The arrays of a tangent or cotangent vector, which stand after `first` others."""
        if not isinstance(vector, Mapping) or set(vector) != set(names):
            found = sorted(map(str, vector)) if isinstance(vector, Mapping) else vector
            raise InputError(
                f"{self._name}: {endpoint}: {what} must be a dict with an array for each of "
                f"{', '.join(names)}, not {found!r:.80}"
            )
        arrays: list[Any] = []
        patterns: list[Pattern] = []
        for index, name in enumerate(names):
            leaf = _leaf_tree.find(tree, name) or {}
            make = functools.partial(self._reader.read, leaf=leaf, path=f"{what}.{name}")
            with self._named_errors(endpoint):
                arrays.append(make(vector[name]))
            if not isinstance(arrays[-1], np.ndarray):
                patterns.append(("foreign", type(vector[name]), first + index))
            elif arrays[-1] is vector[name]:
                patterns.append(("array", first + index))
            else:
                patterns.append(("other", type(vector[name]), first + index, make))
        return tuple(arrays), ("dict", names, tuple(patterns))

    def _prepare(
        self,
        endpoint: str,
        flat: Flattened,
        of: tuple[str, ...] | None,
        wrt: tuple[str, ...] | None,
        seeds: tuple[Any, ...] = (),
    ) -> Any:
        return self._native.prepare(
            NUMBERS[endpoint],
            tuple(flat.paths),
            tuple(flat.arrays),
            flat.json,
            of,
            wrt,
            seeds,
            self._flags,
        )

    def _run(
        self,
        endpoint: Any,
        call: Any,
        flat: Flattened,
        patterns: tuple[Pattern | None, ...],
        form: Pattern,
        seeds: tuple[Any, ...] = (),
    ) -> Any:
        values, document, others = call.run((*flat.arrays, *seeds), self._way.stream)
        if flat.can_be_remembered and all(patterns):
            call.remember(("list", tuple, patterns), form)
            endpoint.remember(call)
        if document == "{}" and not others and form is not None:
            return _filled(form, values)
        return self._finish(call, values, document, others)

    def _finish(self, call: Any, values: list[Any], document: str, others: list[Any]) -> Any:
        """The outputs of apply, whatever they are."""
        result = json.loads(document)
        for path, value in [*zip(call.of, values, strict=True), *others]:
            _leaf_tree.place(result, path, value)
        known = {name: result.pop(name) for name in self._order if name in result}
        return {**known, **result}


def _too_many(_call: Any, _values: Any, document: str, others: Any) -> NoReturn:
    raise RuntimeError(f"a derivative returned more than was asked for: {document}, {others}")


def _names_pattern(paths: Any) -> Pattern | None:
    """The pattern of a collection of paths; None where that can't be told."""
    if type(paths) in (list, tuple):
        return ("list", type(paths), tuple(("value", name) for name in paths))
    if type(paths) in (set, frozenset):
        return ("set", type(paths)(paths))
    return None


def _by_path(paths: tuple[str, ...]) -> Pattern:
    return ("dict", paths, tuple(("out", index) for index in range(len(paths))))


def _form(paths: list[str]) -> Pattern:
    """The form of nested outputs."""
    whole: dict[str, Any] = {}
    for index, path in enumerate(paths):
        _leaf_tree.place(whole, path, ("out", index))
    return _formed(whole)


def _formed(value: Any) -> Pattern:
    if isinstance(value, dict):
        return ("dict", tuple(value), tuple(_formed(item) for item in value.values()))
    if isinstance(value, list):
        return ("list", tuple(_formed(item) for item in value))
    return value if value is not None else ("dict", (), ())


def _filled(form: Pattern, values: list[Any]) -> Any:
    kind = form[0]
    if kind == "out":
        return values[form[1]]
    if kind == "list":
        return [_filled(item, values) for item in form[1]]
    return {key: _filled(item, values) for key, item in zip(form[1], form[2], strict=True)}
