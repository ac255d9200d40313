"""One derivative endpoint from another: products from a Jacobian, a Jacobian from products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tesseract_host.runtime.tree_transforms import get_at_path

Endpoint = Callable[..., Any]


def vjp_from_jacobian(
    jacobian: Endpoint,
    inputs: Any,
    vjp_inputs: Iterable[str],
    vjp_outputs: Iterable[str],
    cotangent_vector: Mapping[str, Any],
) -> dict[str, Any]:
    """Gradients {input: array}: the Jacobian contracted with the cotangents of all outputs."""
    ins, outs = set(vjp_inputs), set(vjp_outputs)
    blocks = jacobian(inputs=inputs, jac_inputs=ins, jac_outputs=outs)
    gradients = {}
    for path in ins:
        shares = []
        for out in outs:
            cotangent = np.asarray(cotangent_vector[out])
            shares.append(np.tensordot(cotangent, np.asarray(blocks[out][path]), cotangent.ndim))
        gradients[path] = sum(shares[1:], start=shares[0])
    return gradients


def jvp_from_jacobian(
    jacobian: Endpoint,
    inputs: Any,
    jvp_inputs: Iterable[str],
    jvp_outputs: Iterable[str],
    tangent_vector: Mapping[str, Any],
) -> dict[str, Any]:
    """Tangents {output: array}: the Jacobian contracted with the tangents of all inputs."""
    ins, outs = set(jvp_inputs), set(jvp_outputs)
    blocks = jacobian(inputs=inputs, jac_inputs=ins, jac_outputs=outs)
    tangents = {}
    for out in outs:
        shares = []
        for path in ins:
            tangent = np.asarray(tangent_vector[path])
            shares.append(np.tensordot(np.asarray(blocks[out][path]), tangent, tangent.ndim))
        tangents[out] = sum(shares[1:], start=shares[0])
    return tangents


def jacobian_from_vjp(
    vjp: Endpoint,
    eval_fn: Callable[[Any], Any],
    inputs: Any,
    jac_inputs: Iterable[str],
    jac_outputs: Iterable[str],
) -> dict[str, dict[str, Any]]:
    """The Jacobian by one vector-Jacobian product per output element.

    `eval_fn(inputs)`, apply or abstract_eval, tells the shapes of the outputs.
    """
    ins, outs = set(jac_inputs), set(jac_outputs)
    values = eval_fn(inputs)
    jacobian: dict[str, dict[str, Any]] = {}
    for out in outs:
        shape, dtype = _shape_and_dtype(get_at_path(values, out))
        blocks: dict[str, Any] = {}
        for index in np.ndindex(*shape):
            row = vjp(
                inputs=inputs,
                vjp_inputs=ins,
                vjp_outputs={out},
                cotangent_vector={out: _unit(shape, dtype, index)},
            )
            for path in ins:
                gradient = np.asarray(row[path])
                block = blocks.setdefault(path, np.zeros((*shape, *gradient.shape), gradient.dtype))
                block[index] = gradient
        for path in ins - set(blocks):
            given = _shape_and_dtype(get_at_path(inputs, path))
            blocks[path] = np.zeros((*shape, *given[0]), given[1])
        jacobian[out] = blocks
    return jacobian


def jacobian_from_jvp(
    jvp: Endpoint,
    inputs: Any,
    jac_inputs: Iterable[str],
    jac_outputs: Iterable[str],
) -> dict[str, dict[str, Any]]:
    """The Jacobian by one Jacobian-vector product per input element."""
    ins, outs = set(jac_inputs), set(jac_outputs)
    jacobian: dict[str, dict[str, Any]] = {out: {} for out in outs}
    for path in ins:
        shape, dtype = _shape_and_dtype(get_at_path(inputs, path))
        for index in np.ndindex(*shape):
            column = jvp(
                inputs=inputs,
                jvp_inputs={path},
                jvp_outputs=outs,
                tangent_vector={path: _unit(shape, dtype, index)},
            )
            for out in outs:
                tangent = np.asarray(column[out])
                block = jacobian[out].setdefault(
                    path, np.zeros((*tangent.shape, *shape), tangent.dtype)
                )
                block[(..., *index)] = tangent
    return jacobian


def _shape_and_dtype(value: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    if isinstance(value, Mapping) and "shape" in value:
        return tuple(value["shape"]), np.dtype(value["dtype"])
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return tuple(value.shape), np.dtype(value.dtype)
    array = np.asarray(value)
    return array.shape, array.dtype


def _unit(shape: tuple[int, ...], dtype: np.dtype[Any], index: tuple[int, ...]) -> Any:
    unit = np.zeros(shape, dtype)
    unit[index] = 1
    return unit[()] if not shape else unit
