"""The requests and results of the derivative endpoints."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from types import EllipsisType
from typing import Annotated, Any, Literal, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from tesseract_host import _engine
from tesseract_host.loader import generated, walk
from tesseract_host.loader.failures import ResultError, SeedError
from tesseract_host.runtime import _paths
from tesseract_host.runtime._check import ArrayCheck, compiled, shape_of
from tesseract_host.runtime.schema_types import Array, is_differentiable
from tesseract_host.runtime.tree_transforms import get_at_path

INDEX_PATTERN = r"\[[0-9]+\]"
KEY_PATTERN = r"\{(?:[^{}\\]|\\.)+\}"


class DerivativeTypes:
    """The differentiable leaves of both schemas of a component."""

    def __init__(self, inputs: Any, outputs: Any) -> None:
        self.inputs = [leaf for leaf in walk.leaves(inputs) if is_differentiable(leaf.annotation)]
        self.outputs = [leaf for leaf in walk.leaves(outputs) if is_differentiable(leaf.annotation)]
        if not self.inputs:
            raise RuntimeError("No differentiable inputs found in InputSchema")
        if not self.outputs:
            raise RuntimeError("No differentiable outputs found in OutputSchema")
        self._input_path: Any = path_type(self.inputs)
        self._output_path: Any = path_type(self.outputs)
        self._input_adapter: TypeAdapter[Any] = TypeAdapter(self._input_path)
        self._output_adapter: TypeAdapter[Any] = TypeAdapter(self._output_path)

    def request(self, endpoint: str, schema: Any) -> type[BaseModel]:
        """The model of a request to "jacobian", "jvp" or "vjp"."""
        short = {"jacobian": "jac"}.get(endpoint, endpoint)
        inputs = generated.subclass(schema, f"{endpoint.capitalize()}_")
        existing = Annotated[self._input_path, AfterValidator(_exists)]
        fields: dict[str, Any] = {
            f"{short}_inputs": (set[existing], Field(min_length=1)),
            f"{short}_outputs": (set[self._output_path], Field(min_length=1)),
        }
        seeds: Any = Array[..., None]
        if endpoint == "jvp":
            tangents = AfterValidator(self._check_tangents)
            fields["tangent_vector"] = (Annotated[dict[self._input_path, seeds], tangents], ...)
        elif endpoint == "vjp":
            cotangents = AfterValidator(self._check_cotangents)
            fields["cotangent_vector"] = (
                Annotated[dict[self._output_path, seeds], cotangents],
                ...,
            )
        title = {"jacobian": "Jacobian"}.get(endpoint, endpoint.upper())
        return generated.request(f"{title}InputSchema", inputs, **fields)

    def path_set(self, ins: tuple[str, ...], outs: tuple[str, ...]) -> Any:
        """The engine's path set of these paths; None where they are not what a request may name."""
        try:
            in_paths = [self._named(path, self._input_adapter, self.inputs) for path in set(ins)]
            out_paths = [
                self._named(path, self._output_adapter, self.outputs) for path in set(outs)
            ]
        except (ValidationError, ResultError, ValueError):
            return None
        assert _engine.native is not None
        return _engine.native.path_set(tuple(in_paths), tuple(out_paths))

    def _named(
        self, path: str, known: TypeAdapter[Any], leaves: list[walk.Leaf]
    ) -> tuple[str, Any, tuple[tuple[str, Any], ...], bool]:
        """A leaf as `path_set` takes it."""
        known.validate_python(path)
        annotation = leaf_at(leaves, path).annotation
        steps = tuple((step.kind, step.value) for step in _paths.parse(path))
        return path, array_check(annotation), steps, "[" in path or "{" in path

    def _check_tangents(self, seeds: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        _check_keys(seeds, info, "jvp_inputs", "tangent vector")
        if "inputs" not in info.data:
            raise ValueError("the tangent vector can't be checked, since the inputs are invalid")
        checked = {}
        for path, seed in seeds.items():
            try:
                value = get_at_path(info.data["inputs"], path)
            except (LookupError, AttributeError):
                raise SeedError(path, "no such input is given") from None
            dtype = leaf_at(self.inputs, path).annotation.expected_dtype
            checked[path] = _seed(path, exact_adapter(_shape(value), dtype), seed, info)
        return checked

    def _check_cotangents(self, seeds: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        _check_keys(seeds, info, "vjp_outputs", "cotangent vector")
        return {
            path: _seed(path, adapter(leaf_at(self.outputs, path).annotation), seed, info)
            for path, seed in seeds.items()
        }

    def jvp_result(self, result: Any, outputs: Iterable[str], context: Any) -> dict[str, Any]:
        """The tangents that an endpoint returned, checked."""
        return _checked(_exactly(result, outputs, "the result"), self.outputs, context)

    def vjp_result(self, result: Any, inputs: Iterable[str], context: Any) -> dict[str, Any]:
        """The gradients that an endpoint returned, checked."""
        return _checked(_exactly(result, inputs, "the result"), self.inputs, context)

    def jacobian_result(
        self, result: Any, outputs: Iterable[str], inputs: Iterable[str], context: Any
    ) -> dict[str, dict[str, Any]]:
        """The Jacobian that an endpoint returned, checked."""
        wanted = list(inputs)
        checked: dict[str, dict[str, Any]] = {}
        for out, row in _exactly(result, outputs, "the result").items():
            above = leaf_at(self.outputs, out).annotation.expected_shape
            checked[out] = {}
            for path, block in _exactly(row, wanted, f"the result for {out}").items():
                below = leaf_at(self.inputs, path).annotation.expected_shape
                checked[out][path] = _block(out, path, block, above, below, context)
        return checked


def path_type(leaves: list[walk.Leaf]) -> Any:
    """The type of the paths of these leaves."""
    patterns = dict.fromkeys(leaf.pattern for leaf in leaves)
    return Union[tuple(_pattern_type(pattern) for pattern in patterns)]  # noqa: UP007


def _pattern_type(pattern: walk.Pattern) -> Any:
    text = walk.pattern_text(pattern)
    if all(step.kind == "name" for step in pattern):
        return Literal[text]
    segments = [
        INDEX_PATTERN if step.kind == "index" else KEY_PATTERN if step.kind == "key" else step.value
        for step in pattern
    ]
    expression = r"\.".join(str(segment) for segment in segments)
    return Annotated[str, StringConstraints(pattern=f"^{expression}$")]


def leaf_at(leaves: list[walk.Leaf], path: str) -> walk.Leaf:
    """The leaf of a path that a request's type has let through."""
    leaf = walk.find_leaf(leaves, _paths.parse(path))
    if leaf is None:
        raise ResultError("no differentiable leaf has this path", path)
    return leaf


def _exists(path: str, info: ValidationInfo) -> str:
    if "[" in path or "{" in path:
        try:
            get_at_path(info.data["inputs"], path)
        except (LookupError, AttributeError):
            raise SeedError(path, "no such input is given") from None
    return path


def _check_keys(seeds: dict[str, Any], info: ValidationInfo, field: str, name: str) -> None:
    if field not in info.data:
        raise ValueError(f"the {name} can't be checked, since {field} is missing or invalid")
    wanted = info.data[field]
    if set(seeds) != wanted:
        raise ValueError(f"the {name} must have the keys {sorted(wanted)}, not {sorted(seeds)}")


def _shape(value: Any) -> tuple[int, ...]:
    if value is None:
        return ()
    if isinstance(value, Mapping):
        return tuple(value["shape"])
    return shape_of(value)


def _seed(path: str, checker: TypeAdapter[Any], seed: Any, info: ValidationInfo) -> Any:
    try:
        return checker.validate_python(seed, context=info.context)
    except ValidationError as error:
        raise SeedError(path, _reasons(error)) from None


@functools.lru_cache(maxsize=512)
def adapter(annotation: Any) -> TypeAdapter[Any]:
    """The validator of an array type."""
    return TypeAdapter(annotation)


@functools.lru_cache(maxsize=512)
def exact_adapter(shape: tuple[int | None, ...], dtype: str | None) -> TypeAdapter[Any]:
    """The validator of arrays of this shape and dtype."""
    return TypeAdapter(Array[shape, dtype])


@functools.lru_cache(maxsize=512)
def array_check(annotation: Any) -> Any:
    """The CHECK of an array type."""
    return compiled(
        ArrayCheck(annotation.expected_shape, annotation.expected_dtype, annotation.flags)
    )


@functools.lru_cache(maxsize=512)
def exact_check(shape: tuple[int, ...], like: ArrayCheck) -> Any:
    """The CHECK of arrays of this shape and the dtype of another CHECK."""
    return compiled(ArrayCheck(shape, like.dtype))


def _exactly(result: Any, keys: Iterable[str], name: str) -> Mapping[str, Any]:
    wanted = set(keys)
    if not isinstance(result, Mapping):
        raise ResultError(f"{name} must be a dict, not {type(result).__name__}")
    if set(result) != wanted:
        missing = sorted(wanted - set(result))
        unknown = sorted(map(str, set(result) - wanted))
        raise ResultError(f"{name} lacks the keys {missing} and has {unknown} too many")
    return result


def _checked(result: Mapping[str, Any], leaves: list[walk.Leaf], context: Any) -> dict[str, Any]:
    checked = {}
    for path, value in result.items():
        try:
            checker = adapter(leaf_at(leaves, path).annotation)
            checked[path] = checker.validate_python(value, context=context)
        except ValidationError as error:
            raise ResultError(_reasons(error), path) from error
    return checked


def _block(out: str, path: str, block: Any, above: Any, below: Any, context: Any) -> Any:
    """One block of a Jacobian, of shape (*output, *input), in the dtype it came in."""
    try:
        value = adapter(Array[..., None]).validate_python(block, context=context)
        if isinstance(above, EllipsisType) and isinstance(below, EllipsisType):
            return value
        shape = shape_of(value)
        if isinstance(above, EllipsisType):
            expected = (*shape[: max(len(shape) - len(below), 0)], *below)
        elif isinstance(below, EllipsisType):
            expected = (*above, *shape[len(above) :])
        else:
            expected = (*above, *below)
        return exact_adapter(expected, None).validate_python(value, context=context)
    except ValidationError as error:
        raise ResultError(f"the block by {path}: {_reasons(error)}", out) from error


def _reasons(error: ValidationError) -> str:
    return "; ".join(detail["msg"] for detail in error.errors(include_url=False))
