"""Regression tests of components: one call each, and what must come of it."""

from __future__ import annotations

import builtins
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from tesseract_host.loader import calls
from tesseract_host.loader.failures import EndpointError, ResultError
from tesseract_host.runtime._check import is_device_object
from tesseract_host.runtime._encoding import read_encoded

if TYPE_CHECKING:
    from tesseract_host._native_client import NativeClient
    from tesseract_host.loader.component import Component


class TestCliConfig(BaseModel):
    """What a command line sets for a test; read by nothing in a process."""

    __test__ = False

    input_path: str | None = None
    volume_mounts: list[str] | None = None
    user: str | None = None


class TestSpec(BaseModel):
    """One call, and either its result or the exception that it must raise."""

    __test__ = False
    model_config = ConfigDict(arbitrary_types_allowed=True)

    endpoint: str
    payload: dict[str, Any]
    expected_outputs: dict[str, Any] | None = None
    expected_exception: Any | None = None
    expected_exception_regex: str | None = None
    atol: float = 1e-8
    rtol: float = 1e-5
    skip_output_path_checks: bool = False
    cli_config: TestCliConfig | None = None

    @field_validator("expected_exception")
    @classmethod
    def _exception_type(cls, value: Any) -> Any:
        return None if value is None else exception_type(value)

    @model_validator(mode="after")
    def _one_expectation(self) -> TestSpec:
        if (self.expected_outputs is None) == (self.expected_exception is None):
            raise ValueError("give either expected_outputs or expected_exception")
        return self


class TestOutputSchema(BaseModel):
    """What a server answers: "passed", "failed" with the reason, or "error"."""

    __test__ = False

    status: Literal["passed", "failed", "error"]
    message: str
    endpoint: str


def exception_type(value: Any) -> type[BaseException]:
    """The exception type of a class, a built-in name, or a dotted name; ValueError if none."""
    found = value
    if isinstance(value, str):
        module, _, name = value.rpartition(".")
        if module:
            try:
                found = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError) as error:
                raise ValueError(f"there is no exception {value!r}: {error}") from None
        else:
            found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    raise ValueError(
        f"{value!r} is no exception: give a class, a built-in's name, or a dotted name such as "
        "'pydantic.ValidationError'"
    )


def run(component: Component, specification: Any, names: Sequence[str]) -> None:
    """Makes the call and compares; `names` are the endpoints that there are.

    Raises pydantic's ValidationError for a malformed specification, AssertionError if the outcome
    is not the expected one, EndpointError if the module failed and no exception was expected.
    """
    spec = TestSpec.model_validate(specification)
    endpoint = calls.SHORT.get(spec.endpoint, spec.endpoint)
    if spec.endpoint not in names or endpoint not in component.schemas.requests:
        raise AssertionError(
            f"{component.name} has no endpoint {spec.endpoint!r}; it has {', '.join(names)}"
        )
    expected = spec.expected_exception
    try:
        obtained = component.call(endpoint, spec.payload)
    except Exception as error:
        _compare_error(spec, error)
        return
    if expected is not None:
        raise AssertionError(f"{expected.__name__} was expected, but nothing was raised")
    differences = list(_differences(obtained, _expected(component, endpoint, spec), "", spec))
    if differences:
        raise AssertionError(f"{spec.endpoint} gives other outputs:\n" + "\n".join(differences))


def run_native(client: NativeClient, specification: Any) -> None:
    """The same of a native component, whose expected outputs are compared as they are given: lists
    of floats are float64, encoded arrays what they say.
    """
    spec = TestSpec.model_validate(specification)
    if spec.endpoint not in client.names or spec.endpoint in ("health", "test"):
        raise AssertionError(
            f"{client.name} has no endpoint {spec.endpoint!r}; it has {', '.join(client.names)}"
        )
    try:
        obtained = client.call(spec.endpoint, spec.payload)
    except Exception as error:
        if spec.expected_exception is None and isinstance(error, ValueError):
            raise AssertionError(f"the inputs don't fit the component: {error}") from error
        _compare_error(spec, error)
        return
    if spec.expected_exception is not None:
        raise AssertionError(f"{spec.expected_exception.__name__} was expected, but nothing raised")
    differences = list(_differences(obtained, _decoded(spec.expected_outputs, obtained), "", spec))
    if differences:
        raise AssertionError(f"{spec.endpoint} gives other outputs:\n" + "\n".join(differences))


def _decoded(expected: Any, obtained: Any) -> Any:
    """Expected outputs with arrays where there are arrays in what was obtained."""
    if isinstance(obtained, np.ndarray | np.generic):
        if isinstance(expected, dict):
            return read_encoded(expected, {})
        return np.asarray(expected) if isinstance(expected, list | int | float) else expected
    if isinstance(expected, dict) and isinstance(obtained, dict):
        return {key: _decoded(item, obtained.get(key)) for key, item in expected.items()}
    if isinstance(expected, list) and isinstance(obtained, list):
        pairs = zip(expected, [*obtained, *[None] * len(expected)], strict=False)
        return [_decoded(item, other) for item, other in pairs]
    return expected


def _compare_error(spec: TestSpec, error: Exception) -> None:
    expected = spec.expected_exception
    if expected is None:
        if isinstance(error, ValidationError):
            raise AssertionError(f"the inputs don't fit the schema: {error}") from error
        raise error
    original = error.original if isinstance(error, EndpointError) else error
    # What a module returns is refused by a ValidationError where a schema alone decides.
    fits = isinstance(original, expected) or (
        isinstance(original, ResultError) and issubclass(ValidationError, expected)
    )
    if not fits:
        raise AssertionError(
            f"{expected.__name__} was expected, not {type(original).__name__}: {original}"
        ) from error
    pattern = spec.expected_exception_regex
    if pattern is not None and re.search(pattern, str(original)) is None:
        raise AssertionError(f"{pattern!r} does not match the exception's text: {original}")


def _expected(component: Component, endpoint: str, spec: TestSpec) -> Any:
    """The expected outputs, checked like the module's but with exact shapes and dtypes."""
    context = {
        "base_dir": component.settings.get_config().input_path,
        "strict_shapes": True,
        "strict_types": True,
        "skip_path_checks": spec.skip_output_path_checks,
    }
    schemas = component.schemas
    try:
        if endpoint in schemas.results:
            result = schemas.results[endpoint].model_validate(
                spec.expected_outputs, context=context
            )
            return result.model_dump()
        request: Any = schemas.requests[endpoint].model_validate(spec.payload)
        types = schemas.derivatives
        outputs: Any = spec.expected_outputs
        if endpoint == "jacobian":
            return types.jacobian_result(outputs, request.jac_outputs, request.jac_inputs, context)
        if endpoint == "jvp":
            return types.jvp_result(outputs, request.jvp_outputs, context)
        return types.vjp_result(outputs, request.vjp_inputs, context)
    except (ValidationError, ResultError) as error:
        raise AssertionError(f"expected_outputs don't fit the schema: {error}") from error


def _differences(got: Any, wanted: Any, path: str, spec: TestSpec) -> Iterator[str]:
    where = path or "the result"
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        if set(got) != set(wanted):
            keys = f"has the keys {sorted(map(str, got))}, not {sorted(map(str, wanted))}"
            yield f"{where} {keys}"
            return
        for key in wanted:
            yield from _differences(got[key], wanted[key], f"{path}.{key}".lstrip("."), spec)
    elif _is_sequence(wanted) and _is_sequence(got):
        if len(got) != len(wanted):
            yield f"{where} has {len(got)} items, not {len(wanted)}"
            return
        for index, (first, second) in enumerate(zip(got, wanted, strict=True)):
            yield from _differences(first, second, f"{path}.[{index}]".lstrip("."), spec)
    elif _is_number(got) and _is_number(wanted):
        yield from _unlike_arrays(np.asarray(got), np.asarray(wanted), where, spec)
    elif is_device_object(got) or is_device_object(wanted):
        yield f"{where} is in device memory, which this comparison does not read"
    elif type(got) is not type(wanted) or got != wanted:
        yield f"{where} is {got!r}, not {wanted!r}"


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_number(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | int | float | complex)


def _unlike_arrays(
    got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], where: str, spec: TestSpec
) -> Iterator[str]:
    if got.shape != wanted.shape:
        yield f"{where} has shape {got.shape}, not {wanted.shape}"
        return
    if got.dtype != wanted.dtype:
        yield f"{where} has dtype {got.dtype}, not {wanted.dtype}"
        return
    with np.errstate(all="ignore"):
        close = np.isclose(got, wanted, rtol=spec.rtol, atol=spec.atol, equal_nan=True)
    if not close.all():
        index = tuple(int(i) for i in np.argwhere(~close)[0])
        place = f" at {index}" if index else ""
        yield (
            f"{where}{place} is {got[index]}, not {wanted[index]} "
            f"({int((~close).sum())} of {close.size} values differ)"
        )
