"""A prepared call: a signature resolved once, run any number of times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter, ValidationError

from tesseract_host.loader import calls, leaves, merging, walk
from tesseract_host.loader.derivatives import leaf_at
from tesseract_host.loader.failures import INVALID_ARGUMENT, EndpointError, RequestError
from tesseract_host.loader.results import Answer, Extractor, Place, encode_rest
from tesseract_host.runtime._check import ArrayCheck
from tesseract_host.runtime.schema_types import is_array_annotation

if TYPE_CHECKING:
    from tesseract_host.loader.component import Component

Shape = tuple[tuple[int, ...], str]


class CompiledDerivative(NamedTuple):
    """How the function of a derivative is called, and what it must return."""

    keywords: tuple[str, ...]  # names of its arguments, the inputs first
    sets: list[tuple[str, ...]]  # of paths, given after the inputs
    seeds: list[tuple[str, ArrayCheck, int]]  # path, check, input whose shape it has or -1
    rows: tuple[str, ...]  # the outputs of a Jacobian
    columns: tuple[str, ...]  # the keys of the result, or of each of its rows
    checks: list[ArrayCheck]  # of the results, by position


class Compiled(NamedTuple):
    """What the compiled loader needs to call the module's function by itself."""

    inputs: Any  # the compiled schema
    tree: Any  # of the template, with objects of `slot_type`
    slot_type: type
    outputs: Any  # the compiled schema, or None
    wanted: list[tuple[str, ...]]  # steps to the outputs by position
    encode: Callable[[Any], str]  # JSON of a dict
    extract: Callable[[Any], Answer] | None  # of a checked result
    derivative: CompiledDerivative | None
    namespace: dict[str, Any]  # of the module
    function: str
    finish: Callable[[Any], Answer]  # `Plan.finish`
    failure: Callable[[Exception], EndpointError]
    context: Callable[[], dict[str, Any]]
    state: Any  # whether a call needs more than this
    stream_end: Callable[[], None]  # ends lines that the thread has begun
    log: Callable[[int, str], None] | None


class Plan:
    """One signature of one component.  `run` may be called from any thread.

    Of the two lists of paths one carries seeds: `wrt` in "jvp", `of` in "vjp"; the other, and both
    in "jacobian", are wanted.
    """

    def __init__(
        self,
        component: Component,
        endpoint: str,
        inputs: tuple[str, ...],
        of: tuple[str, ...],
        wrt: tuple[str, ...],
        json: str,
    ) -> None:
        self._component = component
        self._endpoint = endpoint
        self._of = of
        self._wrt = wrt
        schemas = component.schemas
        self._inputs = inputs
        for path in inputs:
            check_known(schemas.inputs, path)
        self._template = merging.Template(schemas.inputs, inputs, json)
        if endpoint in ("apply", "abstract_eval"):
            self._extractor = _extractor(schemas.outputs, of)
        else:
            self._check_derivative_paths()
        if endpoint == "abstract_eval":
            self._abstract_arrays()

    def run(self, arrays: Sequence[Any], seeds: Sequence[Any]) -> Answer:
        """Calls the endpoint.

        `arrays` has one ndarray (or NumPy scalar, or device object) per input path, in order;
        `seeds` one per seed, None standing for zeros.  Returns the results by position (ndarray,
        NumPy scalar or device object; None for an optional output that is None) and the outputs
        that are no arrays as JSON text; of "apply", where the schema has containers of arrays, also
        (path, result) of their elements that are not wanted by name.  Raises pydantic's
        ValidationError for bad inputs and EndpointError for a failing module or a bad result.
        """
        self._check_count(arrays)
        if self._endpoint == "abstract_eval":
            raise RequestError("an abstract plan has no run", status=INVALID_ARGUMENT)
        return self._answer(self._component.call(self._endpoint, self._payload(arrays, seeds)))

    def abstract(self, shapes: Sequence[Shape]) -> Answer:
        """Calls abstract_eval on (shape, dtype name) per input; as `run`, with such pairs."""
        self._check_count(shapes)
        tree = self._template.fill(
            [{"shape": tuple(shape), "dtype": dtype} for shape, dtype in shapes]
        )
        outputs = self._component.call("abstract_eval", {"inputs": tree})
        return self._extractor.shapes(outputs)

    def _payload(self, arrays: Sequence[Any], seeds: Sequence[Any]) -> dict[str, Any]:
        given: tuple[Any, ...] = (self._template.fill(arrays),)
        if self._endpoint == "jacobian":
            given += (self._wrt, self._of)
        elif self._endpoint != "apply":
            vector = self._vector(seeds)
            seeded = tuple(vector)
            given += (seeded, self._of) if self._endpoint == "jvp" else (self._wrt, seeded)
            given += (vector,)
        return dict(zip(calls.parameters(self._endpoint), given, strict=True))

    def _vector(self, seeds: Sequence[Any]) -> dict[str, Any]:
        """The seeds that are not zero, by path."""
        seeded = self._wrt if self._endpoint == "jvp" else self._of
        if len(seeds) != len(seeded):
            raise RequestError(
                f"{len(seeds)} seeds for {len(seeded)} positions", status=INVALID_ARGUMENT
            )
        given = {p: seed for p, seed in zip(seeded, seeds, strict=True) if seed is not None}
        if not given:
            raise RequestError("all seeds are zero", status=INVALID_ARGUMENT)
        return given

    def _answer(self, result: Any) -> Answer:
        """The wanted parts of a checked result."""
        if self._endpoint == "apply":
            return self._extractor.tensors(result)
        if self._endpoint == "jacobian":
            return [result[out][path] for out in self._of for path in self._wrt], "{}"
        return [result[path] for path in (self._of if self._endpoint == "jvp" else self._wrt)], "{}"

    # ---- By the compiled loader ----------------------------------------------------------------

    def compiled(self) -> Compiled | None:
        """What calls of this plan need where no Python is to run but the module's; None where that
        can't be.
        """
        component, endpoint = self._component, self._endpoint
        caller = component.compiled(endpoint)
        if caller is None:
            return None
        derivative = None
        if endpoint != "apply":
            derivative = self._compiled_derivative()
            if derivative is None:
                return None
        return Compiled(
            inputs=caller.inputs,
            tree=self._template.tree,
            slot_type=merging.Slot,
            outputs=caller.outputs,
            wanted=self._extractor.steps if endpoint == "apply" else [],
            encode=encode_rest,
            extract=self._extractor.tensors if endpoint == "apply" else None,
            derivative=derivative,
            namespace=vars(component.module),
            function=calls.FUNCTIONS[endpoint],
            finish=self.finish,
            failure=self._failure,
            context=component.context,
            state=component.output.state,
            stream_end=component.output.finish,
            log=component.output.log,
        )

    def finish(self, returned: Any) -> Answer:
        """What `run` returns, of what the module's function has returned."""
        component, endpoint = self._component, self._endpoint
        ins, outs = (None, None) if endpoint == "apply" else (self._wrt, self._of)
        context = component.context()
        try:
            result = calls.checked(component, endpoint, returned, ins, outs, context)
        except Exception as error:
            raise calls.failed(component, endpoint, error) from None
        return self._answer(result)

    def _failure(self, error: Exception) -> EndpointError:
        return calls.failed(self._component, self._endpoint, error)

    def _compiled_derivative(self) -> CompiledDerivative | None:
        types = self._component.schemas.derivatives
        of, wrt = self._of, self._wrt
        outputs = [leaf_at(types.outputs, path).annotation for path in of]
        inputs = [leaf_at(types.inputs, path).annotation for path in wrt]
        above = [_check_of(annotation) for annotation in outputs]
        below = [_check_of(annotation) for annotation in inputs]
        names = calls.parameters(self._endpoint)
        if self._endpoint == "jacobian":
            shapes = [(a.shape, b.shape) for a in above for b in below]
            if any(isinstance(s, EllipsisType) for pair in shapes for s in pair):
                return None
            return CompiledDerivative(
                names,
                [wrt, of],
                [],
                of,
                wrt,
                [ArrayCheck((*a, *b), None) for a, b in shapes],
            )
        if self._endpoint == "vjp":
            seeds = [(path, check, -1) for path, check in zip(of, above, strict=True)]
            return CompiledDerivative(names, [wrt, of], seeds, (), wrt, below)
        positions = [self._inputs.index(path) if path in self._inputs else -1 for path in wrt]
        if -1 in positions:
            return None
        tangents = [ArrayCheck(..., check.dtype) for check in below]
        seeds = list(zip(wrt, tangents, positions, strict=True))
        return CompiledDerivative(names, [wrt, of], seeds, (), of, above)

    # ---- Preparing -----------------------------------------------------------------------------

    def _check_count(self, given: Sequence[Any]) -> None:
        if len(given) != len(self._inputs):
            raise RequestError(
                f"{len(given)} arrays for {len(self._inputs)} inputs", status=INVALID_ARGUMENT
            )

    def _check_derivative_paths(self) -> None:
        types = self._component.schemas.derivatives
        for paths, known, name in (
            (self._of, types.outputs, "output"),
            (self._wrt, types.inputs, "input"),
        ):
            if not paths:
                raise RequestError(f"no {name} is named", status=INVALID_ARGUMENT)
            for path in paths:
                if walk.find_leaf(known, merging.parse_path(path)) is None:
                    texts = ", ".join(walk.pattern_text(leaf.pattern) for leaf in known)
                    raise RequestError(f"no differentiable {name}; those are {texts}", path)

    def _abstract_arrays(self) -> None:
        """Array leaves given in the JSON become shape and dtype."""
        schema = self._component.schemas.inputs
        for leaf in walk.leaves(schema):
            if is_array_annotation(leaf.annotation):
                located = merging.locate(schema, leaf.pattern, True)
                self._template.map_leaf(located, _shape_of(leaf.annotation))


def _check_of(annotation: Any) -> ArrayCheck:
    return ArrayCheck(annotation.expected_shape, annotation.expected_dtype)


def _shape_of(annotation: Any) -> Any:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)

    def change(value: Any) -> Any:
        if value is None or (isinstance(value, dict) and "shape" in value):
            return value
        try:
            array = np.asarray(adapter.validate_python(value))
        except ValidationError:
            return value
        return {"shape": array.shape, "dtype": array.dtype.name}

    return change


def _extractor(schema: Any, wanted: tuple[str, ...]) -> Extractor:
    known = walk.leaves(schema)
    wanted_places = []
    for path in wanted:
        check_known(schema, path)
        steps = merging.parse_path(path)
        optional = any(leaf.optional for leaf in known if walk.matches(leaf.pattern, steps))
        wanted_places.append(_place(schema, steps, optional))
    arrays = [
        _place(schema, entry.pattern, entry.optional)
        for entry in leaves.entries(schema)
        if entry.is_array
    ]
    return Extractor(wanted, wanted_places, arrays, walk.is_root_model(schema))


def _place(schema: Any, steps: walk.Pattern, optional: bool) -> Place:
    located = [merging.locate(schema, steps[: k + 1], False) for k in range(len(steps))]
    depths = [0, *map(len, located)]
    return Place(steps, tuple(b > a for a, b in itertools.pairwise(depths)), optional)


def check_known(schema: Any, path: str) -> None:
    """RequestError for a path that no leaf of the schema can have.

    A path may go on below a leaf, into a plain dict say; models that allow extra fields let
    everything pass.
    """
    steps = merging.parse_path(path)
    patterns = dict.fromkeys(leaf.pattern for leaf in walk.leaves(schema))
    if any(walk.matches(pattern, steps[: len(pattern)]) for pattern in patterns):
        return
    if walk.is_model(schema) and not walk.allows_extra(schema):
        known = ", ".join(map(walk.pattern_text, patterns))
        raise RequestError(f"no leaf has this path; there are {known or 'none'}", path)
