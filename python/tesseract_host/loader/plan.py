"""A prepared call: a signature resolved once, run any number of times."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError

from tesseract_host.loader import merging, walk
from tesseract_host.loader.failures import (
    INVALID_ARGUMENT,
    EndpointError,
    RequestError,
    remember,
)
from tesseract_host.loader.results import Extractor
from tesseract_host.runtime.schema_types import is_array_annotation

if TYPE_CHECKING:
    from tesseract_host.loader.component import Component

Results = tuple[list[Any], str]
Shape = tuple[tuple[int, ...], str]


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
        self._request = schemas.requests[endpoint]
        self._n_inputs = len(inputs)
        for path in inputs:
            check_known(schemas.inputs, path)
        self._template = merging.Template(schemas.inputs, inputs, json)
        if endpoint in ("apply", "abstract_eval"):
            self._extractor = _extractor(schemas.outputs, of)
        else:
            self._check_derivative_paths()
        if endpoint == "abstract_eval":
            self._abstract_arrays()

    def run(self, arrays: Sequence[Any], seeds: Sequence[Any]) -> Results:
        """Calls the endpoint.

        `arrays` has one ndarray (or NumPy scalar, or device object) per input path, in order;
        `seeds` one per seed, None standing for zeros.  Returns the results by position (ndarray,
        NumPy scalar or device object; None for an optional output that is None) and the outputs
        that are no arrays as JSON text.  Raises pydantic's ValidationError for bad inputs and
        EndpointError for a failing module or a bad result.
        """
        self._check_count(arrays)
        tree = self._template.fill(arrays)
        with self._component_call():
            if self._endpoint == "apply":
                return self._apply(tree)
            if self._endpoint == "jacobian":
                return self._jacobian(tree)
            if self._endpoint in ("jvp", "vjp"):
                return self._product(tree, seeds)
        raise RequestError("an abstract plan has no run", status=INVALID_ARGUMENT)

    def abstract(self, shapes: Sequence[Shape]) -> tuple[list[Shape], str]:
        """Calls abstract_eval on (shape, dtype name) per input; returns the same per output."""
        self._check_count(shapes)
        tree = self._template.fill(
            [{"shape": tuple(shape), "dtype": dtype} for shape, dtype in shapes]
        )
        schemas = self._component.schemas
        with self._component_call():
            request = self._validated({"inputs": tree})
            function = self._component.function("abstract_eval")
            with self._errors():
                returned = function(request.inputs)
                assert schemas.abstract_result is not None
                result = schemas.abstract_result.model_validate(returned, context=self._context())
                outputs = result.model_dump()
                return self._extractor.shapes(outputs), self._extractor.json(outputs)

    # ---- Endpoints -----------------------------------------------------------------------------

    def _apply(self, tree: Any) -> Results:
        request = self._validated({"inputs": tree})
        function = self._component.function("apply")
        with self._errors():
            outputs = self.outputs_of(function(request.inputs))
        return self._extractor.tensors(outputs), self._extractor.json(outputs)

    def outputs_of(self, returned: Any) -> Any:
        """The checked outputs, dumped, of what apply returned."""
        schemas = self._component.schemas
        if isinstance(schemas.outputs, type) and isinstance(returned, schemas.outputs):
            if isinstance(returned, BaseModel):
                returned = returned.model_dump()
        return schemas.result.model_validate(returned, context=self._context()).model_dump()

    def _jacobian(self, tree: Any) -> Results:
        payload = {"inputs": tree, "jac_inputs": self._wrt, "jac_outputs": self._of}
        request = self._validated(payload)
        returned = self._call(request)
        with self._errors():
            blocks = self._component.schemas.derivatives.jacobian_result(
                returned, self._of, self._wrt, self._context()
            )
        return [blocks[out][path] for out in self._of for path in self._wrt], "{}"

    def _product(self, tree: Any, seeds: Sequence[Any]) -> Results:
        forward = self._endpoint == "jvp"
        seeded, wanted = (self._wrt, self._of) if forward else (self._of, self._wrt)
        if len(seeds) != len(seeded):
            raise RequestError(
                f"{len(seeds)} seeds for {len(seeded)} positions", status=INVALID_ARGUMENT
            )
        given = {p: seed for p, seed in zip(seeded, seeds, strict=True) if seed is not None}
        if not given:
            raise RequestError("all seeds are zero", status=INVALID_ARGUMENT)
        names = ("jvp_inputs", "jvp_outputs") if forward else ("vjp_outputs", "vjp_inputs")
        vector = "tangent_vector" if forward else "cotangent_vector"
        request = self._validated(
            {"inputs": tree, names[0]: tuple(given), names[1]: wanted, vector: given}
        )
        returned = self._call(request)
        types = self._component.schemas.derivatives
        check = types.jvp_result if forward else types.vjp_result
        with self._errors():
            result = check(returned, wanted, self._context())
        return [result[path] for path in wanted], "{}"

    def _call(self, request: BaseModel) -> Any:
        function = self._component.function(self._endpoint)
        with self._errors():
            return function(**{name: getattr(request, name) for name in type(request).model_fields})

    # ---- Around a call -------------------------------------------------------------------------

    def _validated(self, payload: dict[str, Any]) -> Any:
        try:
            return self._request.model_validate(payload, context=self._context())
        except ValidationError as error:
            remember(error, self._component.schemas.inputs)
            raise

    def _context(self) -> dict[str, Any]:
        return {"base_dir": self._component.settings.get_config().input_path}

    @contextlib.contextmanager
    def _component_call(self) -> Any:
        isolation = self._component.isolation
        runs = isolation.runs.call() if isolation.served.uses_runs else contextlib.nullcontext()
        try:
            with runs:
                yield
        finally:
            self._component.output.finish()

    @contextlib.contextmanager
    def _errors(self) -> Any:
        try:
            yield
        except Exception as error:
            outside = self._component.isolation.served.is_out_of_domain(error)
            raise EndpointError(_FULL_NAMES[self._endpoint], error, outside) from None

    # ---- Preparing -----------------------------------------------------------------------------

    def _check_count(self, given: Sequence[Any]) -> None:
        if len(given) != self._n_inputs:
            raise RequestError(
                f"{len(given)} arrays for {self._n_inputs} inputs", status=INVALID_ARGUMENT
            )

    def _check_derivative_paths(self) -> None:
        types = self._component.schemas.derivatives
        for paths, leaves, name in (
            (self._of, types.outputs, "output"),
            (self._wrt, types.inputs, "input"),
        ):
            if not paths:
                raise RequestError(f"no {name} is named", status=INVALID_ARGUMENT)
            for path in paths:
                if walk.find_leaf(leaves, merging.parse_path(path)) is None:
                    known = ", ".join(walk.pattern_text(leaf.pattern) for leaf in leaves)
                    raise RequestError(f"no differentiable {name}; those are {known}", path)

    def _abstract_arrays(self) -> None:
        """Array leaves given in the JSON become shape and dtype."""
        schema = self._component.schemas.inputs
        for leaf in walk.leaves(schema):
            if is_array_annotation(leaf.annotation):
                located = merging.locate(schema, leaf.pattern, True)
                self._template.map_leaf(located, _shape_of(leaf.annotation))


_FULL_NAMES = {
    "apply": "apply",
    "jacobian": "jacobian",
    "jvp": "jacobian_vector_product",
    "vjp": "vector_jacobian_product",
    "abstract_eval": "abstract_eval",
}


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
    arrays = [
        merging.locate(schema, leaf.pattern, False)
        for leaf in walk.leaves(schema)
        if is_array_annotation(leaf.annotation)
    ]
    places = []
    for path in wanted:
        check_known(schema, path)
        places.append((path, merging.locate(schema, merging.parse_path(path), False)))
    return Extractor(places, arrays, walk.is_root_model(schema))


def check_known(schema: Any, path: str) -> None:
    """RequestError for a path that no leaf of the schema can have.

    A path may go on below a leaf, into a plain dict say; models that allow extra fields let
    everything pass.
    """
    steps = merging.parse_path(path)
    leaves = walk.leaves(schema)
    if any(walk.matches(leaf.pattern, steps[: len(leaf.pattern)]) for leaf in leaves):
        return
    if walk.is_model(schema) and not walk.allows_extra(schema):
        known = ", ".join(dict.fromkeys(walk.pattern_text(leaf.pattern) for leaf in leaves))
        raise RequestError(f"no leaf has this path; there are {known or 'none'}", path)
