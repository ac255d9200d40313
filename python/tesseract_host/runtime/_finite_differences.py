"""Derivatives of a module's `apply` by finite differences.

`apply` takes an instance of the inputs' class and returns an object with `model_dump`; results are
float64.  Steps (`eps`) are absolute: one number, or a mapping that names exactly the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tesseract_host.runtime.tree_transforms import get_at_path, set_at_path

ALGORITHMS = ("central", "forward", "stochastic")

Floats = NDArray[np.float64]


def _steps(eps: float | Mapping[str, float], inputs: Iterable[str]) -> dict[str, float]:
    paths = set(inputs)
    if not isinstance(eps, Mapping):
        return dict.fromkeys(paths, float(eps))
    if set(eps) != paths:
        missing, unknown = sorted(paths - set(eps)), sorted(set(eps) - paths)
        raise ValueError(f"eps must name exactly the inputs; missing {missing}, unknown {unknown}")
    return {path: float(step) for path, step in eps.items()}


class _Problem:
    """`apply` as a function of moved inputs, evaluated at its outputs of interest."""

    def __init__(self, apply: Callable[[Any], Any], inputs: Any, outputs: Iterable[str]) -> None:
        self._apply = apply
        self._inputs = inputs
        self._tree = inputs.model_dump()
        self._outputs = tuple(outputs)

    def value(self, path: str) -> NDArray[Any]:
        return np.asarray(get_at_path(self._tree, path))

    def at(self, moves: Mapping[str, Floats]) -> dict[str, Floats]:
        """The outputs with each input moved by the array given for it."""
        values = {}
        for path, move in moves.items():
            base = self.value(path)
            moved = np.asarray(base + move, dtype=np.result_type(base.dtype, np.float32))
            values[path] = moved[()] if moved.ndim == 0 else moved
        inputs = type(self._inputs)(**set_at_path(self._tree, values))
        tree = self._apply(inputs).model_dump()
        return {p: np.asarray(get_at_path(tree, p), dtype=np.float64) for p in self._outputs}

    def here(self) -> dict[str, Floats]:
        tree = self._apply(self._inputs).model_dump()
        return {p: np.asarray(get_at_path(tree, p), dtype=np.float64) for p in self._outputs}

    def unit_moves(self, path: str) -> Iterator[tuple[tuple[int, ...], Floats]]:
        """For each element of an input its index, and a move by one there."""
        shape = self.value(path).shape
        for index in np.ndindex(*shape):
            move = np.zeros(shape)
            move[index] = 1.0
            yield index, move


def _slope(
    problem: _Problem, moves: Mapping[str, Floats], base: dict[str, Floats] | None, step: float
) -> dict[str, Floats]:
    """The derivative along `moves`, already scaled by the steps; forward if `base` is given."""
    ahead = problem.at(moves)
    if base is not None:
        return {path: (ahead[path] - base[path]) / step for path in ahead}
    behind = problem.at({path: -move for path, move in moves.items()})
    return {path: (ahead[path] - behind[path]) / (2 * step) for path in ahead}


def finite_difference_jacobian(
    apply: Callable[[Any], Any],
    inputs: Any,
    jac_inputs: Iterable[str],
    jac_outputs: Iterable[str],
    *,
    algorithm: str = "central",
    eps: float | Mapping[str, float] = 1e-4,
    num_samples: int | None = None,
    seed: int | None = None,
) -> dict[str, dict[str, Floats]]:
    """The Jacobian as {output: {input: array of shape (*output, *input)}}.

    `algorithm` is "central" (two evaluations per element), "forward" (one), or "stochastic"
    (simultaneous perturbation by random signs, `num_samples` of them, by default
    max(10, sqrt(elements)); falls back to "central" when that is no fewer than the elements).
    """
    _check_algorithm(algorithm)
    ins, outs = sorted(jac_inputs), sorted(jac_outputs)
    steps = _steps(eps, ins)
    problem = _Problem(apply, inputs, outs)
    base = problem.here()
    if algorithm == "stochastic":
        elements = sum(problem.value(path).size for path in ins)
        samples = _sample_count(num_samples, elements)
        if samples < elements:
            return _stochastic_jacobian(problem, ins, base, steps, samples, seed)
    forward = base if algorithm == "forward" else None
    jacobian = _zeros(problem, ins, base)
    for path in ins:
        for index, move in problem.unit_moves(path):
            slopes = _slope(problem, {path: move * steps[path]}, forward, steps[path])
            for out, slope in slopes.items():
                jacobian[out][path][(..., *index)] = slope
    return jacobian


def _zeros(
    problem: _Problem, ins: list[str], base: dict[str, Floats]
) -> dict[str, dict[str, Floats]]:
    return {
        out: {path: np.zeros((*value.shape, *problem.value(path).shape)) for path in ins}
        for out, value in base.items()
    }


def _sample_count(given: int | None, elements: int) -> int:
    return max(10, math.isqrt(elements)) if given is None else given


def _signs(
    problem: _Problem, ins: list[str], generator: np.random.RandomState
) -> dict[str, Floats]:
    return {p: generator.choice((-1.0, 1.0), size=problem.value(p).shape) for p in ins}


def _stochastic_jacobian(
    problem: _Problem,
    ins: list[str],
    base: dict[str, Floats],
    steps: dict[str, float],
    samples: int,
    seed: int | None,
) -> dict[str, dict[str, Floats]]:
    generator = np.random.RandomState(seed)  # a seed gives the same samples in tesseract-core
    jacobian = _zeros(problem, ins, base)
    for _ in range(samples):
        signs = _signs(problem, ins, generator)
        slopes = _slope(problem, {p: signs[p] * steps[p] for p in ins}, None, 1.0)
        for out, slope in slopes.items():
            for path in ins:
                share = np.multiply.outer(slope, signs[path]) / steps[path]
                jacobian[out][path] += share / samples
    return jacobian


def finite_difference_jvp(
    apply: Callable[[Any], Any],
    inputs: Any,
    jvp_inputs: Iterable[str],
    jvp_outputs: Iterable[str],
    tangent_vector: Mapping[str, Any],
    *,
    algorithm: str = "central",
    eps: float | Mapping[str, float] = 1e-4,
    num_samples: int | None = None,
    seed: int | None = None,
) -> dict[str, Floats]:
    """Tangents of the outputs, {output: array}.

    One difference along the tangent (with one step for all inputs), "central" or "forward";
    "stochastic" is "central", which needs two evaluations whatever the size.  `num_samples` and
    `seed` are taken so that the three functions have the same parameters.
    """
    del num_samples, seed
    _check_algorithm(algorithm)
    ins, outs = sorted(jvp_inputs), sorted(jvp_outputs)
    steps = _steps(eps, ins)
    problem = _Problem(apply, inputs, outs)
    forward = problem.here() if algorithm == "forward" else None
    total: dict[str, Floats] = {}
    for step in sorted(set(steps.values())):
        moves = {
            path: np.asarray(tangent_vector[path], dtype=np.float64) * step
            for path in ins
            if steps[path] == step
        }
        for out, slope in _slope(problem, moves, forward, step).items():
            total[out] = total[out] + slope if out in total else slope
    return total


def finite_difference_vjp(
    apply: Callable[[Any], Any],
    inputs: Any,
    vjp_inputs: Iterable[str],
    vjp_outputs: Iterable[str],
    cotangent_vector: Mapping[str, Any],
    *,
    algorithm: str = "central",
    eps: float | Mapping[str, float] = 1e-4,
    num_samples: int | None = None,
    seed: int | None = None,
) -> dict[str, Floats]:
    """Gradients, {input: array}, of the outputs contracted with the cotangents."""
    jacobian = finite_difference_jacobian(
        apply,
        inputs,
        vjp_inputs,
        vjp_outputs,
        algorithm=algorithm,
        eps=eps,
        num_samples=num_samples,
        seed=seed,
    )
    gradients: dict[str, Floats] = {}
    for out, row in jacobian.items():
        cotangent = np.asarray(cotangent_vector[out], dtype=np.float64)
        for path, block in row.items():
            share = np.tensordot(cotangent, block, axes=cotangent.ndim)
            gradients[path] = gradients.get(path, 0.0) + share
    return gradients


def _check_algorithm(algorithm: str) -> None:
    if algorithm not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {algorithm!r}; one of {', '.join(ALGORITHMS)}")
