"""Calls of a client from a callback that JAX makes on the buffers of a program.

For what can't be told to the adapter: static values that JSON doesn't hold; and everything, where
there is no adapter.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tesseract_host.jax._host_carrier import CallError, interrupt_later
from tesseract_host.jax._outputs import Type
from tesseract_host.jax._primitives import Batch, batch_sizes
from tesseract_host.jax._spec import LONG, Spec


class Carrier:
    """One call site of a compiled program: endpoint, what is asked for, mapped axes."""

    def __init__(
        self,
        endpoint: str,
        spec: Spec,
        wrt: tuple[int, ...],
        outs: tuple[int, ...],
        batch: Batch,
        types: tuple[Type, ...],
    ) -> None:
        self._endpoint = endpoint
        self._spec = spec
        self._wrt = tuple(spec.paths[i] for i in wrt)
        self._outs = tuple(spec.outputs.paths[o] for o in outs)
        self._batch = batch
        self._types = types
        self._count = len(spec.types)
        self._client = spec.handle.client
        self._one = {
            "apply": self._apply,
            "jvp": self._jvp,
            "vjp": self._vjp,
            "jacobian": self._jacobian,
        }[endpoint]

    def __call__(self, _context: Any, results: Sequence[Any], *operands: Any) -> None:
        """Fills the results; what it raises becomes the error of the program."""
        try:
            self._run(results, operands)
        except CallError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                interrupt_later()
            raise self._error(_text(error), _code(error)) from None

    def _run(self, results: Sequence[Any], operands: Sequence[Any]) -> None:
        inputs = [_owned(operand) for operand in operands]
        destinations: list[Any] = [np.asarray(result) for result in results]
        if not self._batch:
            self._one(inputs, destinations)
            return
        sizes = batch_sizes([array.shape for array in inputs], self._batch)
        for index in itertools.product(*map(range, sizes)):
            self._one(
                [
                    array[tuple(itertools.compress(index, flags))]
                    for array, flags in zip(inputs, zip(*self._batch, strict=True), strict=True)
                ],
                [
                    array[(*index, ...)]  # a view, of rank 0 too
                    for array in destinations
                ],
            )

    # ---- Endpoints ------------------------------------------------------------------------------

    def _apply(self, operands: list[Any], destinations: list[Any]) -> None:
        outputs = self._spec.outputs
        result = self._call({"inputs": self._spec.tree(operands)})
        try:
            arrays, others = outputs.taken_apart(result)
        except ValueError as error:
            raise self._error(
                f"apply returned another structure than abstract_eval: {error}"
            ) from None
        for path, array, place in zip(self._outs, arrays, destinations, strict=True):
            self._fill_exactly(path, array, place)
        if others and self._spec.options.check_statics:
            self._compare(others)

    def _jvp(self, operands: list[Any], destinations: list[Any]) -> None:
        found = self._call(
            {
                "inputs": self._spec.tree(operands[: self._count]),
                "jvp_inputs": self._wrt,
                "jvp_outputs": self._outs,
                "tangent_vector": dict(zip(self._wrt, operands[self._count :], strict=True)),
            }
        )
        for path, place in zip(self._outs, destinations, strict=True):
            self._fill(path, found[path], place)

    def _vjp(self, operands: list[Any], destinations: list[Any]) -> None:
        found = self._call(
            {
                "inputs": self._spec.tree(operands[: self._count]),
                "vjp_inputs": self._wrt,
                "vjp_outputs": self._outs,
                "cotangent_vector": dict(zip(self._outs, operands[self._count :], strict=True)),
            }
        )
        for path, place in zip(self._wrt, destinations, strict=True):
            self._fill(path, found[path], place)

    def _jacobian(self, operands: list[Any], destinations: list[Any]) -> None:
        found = self._call(
            {
                "inputs": self._spec.tree(operands),
                "jac_inputs": self._wrt,
                "jac_outputs": self._outs,
            }
        )
        pairs = itertools.product(self._outs, self._wrt)
        for (out, in_), place in zip(pairs, destinations, strict=True):
            self._fill(f"{out} by {in_}", found[out][in_], place)

    # ---- Results --------------------------------------------------------------------------------

    def _call(self, payload: dict[str, Any]) -> Any:
        return self._client.call(LONG[self._endpoint], payload)

    def _fill_exactly(self, path: str, value: Any, place: np.ndarray[Any, Any]) -> None:
        array = np.asarray(value)
        if array.shape != place.shape or array.dtype != place.dtype:
            raise self._error(
                f"output {path!r} is {array.dtype}{list(array.shape)}, but {place.dtype}"
                f"{list(place.shape)} was to come by abstract_eval"
            )
        np.copyto(place, array)

    def _fill(self, path: str, value: Any, place: np.ndarray[Any, Any]) -> None:
        array = np.asarray(value)
        if array.shape != place.shape:
            raise self._error(
                f"the derivative {path!r} has shape {list(array.shape)}; {list(place.shape)} is due"
            )
        if array.dtype.kind == "c" and place.dtype.kind != "c":
            array = array.real  # the gradient by a real number given for a complex array
        if not np.can_cast(array.dtype, place.dtype, "same_kind"):
            raise self._error(f"the derivative {path!r} is {array.dtype}; {place.dtype} is due")
        np.copyto(place, array, casting="same_kind")

    def _compare(self, others: list[Any]) -> None:
        outputs = self._spec.outputs
        for path, got, expected in zip(outputs.static_paths, others, outputs.statics, strict=True):
            if _differ(got, expected):
                warnings.warn(
                    f"{self._spec.handle.name}: output {path!r} is {got!r} as apply returns it, "
                    f"but {expected!r} by abstract_eval, which is what apply_tesseract returned, "
                    "since it was needed before the call",
                    UserWarning,
                    stacklevel=2,
                )

    def _error(self, text: str, code: str = "INTERNAL") -> CallError:
        return CallError(f"{code}: {self._spec.handle.name}: {LONG[self._endpoint]}: {text}")


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "an exception without text"
    if isinstance(error, Exception):
        return f"{type(error).__name__}: {text}"
    return f"the component raised {type(error).__name__} ({text}), which doesn't end the program"


def _code(error: BaseException) -> str:
    if isinstance(error, NotImplementedError):
        return "UNIMPLEMENTED"
    if isinstance(error, MemoryError):
        return "RESOURCE_EXHAUSTED"
    return "INVALID_ARGUMENT" if isinstance(error, ValueError) else "INTERNAL"


def _owned(buffer: Any) -> np.ndarray[Any, Any]:
    """A copy, since a module may keep it, and the program's memory ends with the call."""
    array = np.array(np.asarray(buffer))
    array.flags.writeable = False
    return array


def _differ(got: Any, expected: Any) -> bool:
    try:
        is_nan = got != got and expected != expected
        return bool(got != expected and not is_nan)
    except (TypeError, ValueError):
        return got is not expected
