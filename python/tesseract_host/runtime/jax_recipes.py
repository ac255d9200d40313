"""Endpoints of a module written in JAX, from one function that maps a dict to a dict.

Needs jax and equinox, which are imported at the first call.  What is no array in the inputs is
static: a change of it traces anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tesseract_host.runtime.tree_transforms import filter_func, flatten_with_paths

__all__ = ["jax_abstract_eval", "jax_apply", "jax_jacobian", "jax_jvp", "jax_vjp"]

Function = Callable[[dict[str, Any]], dict[str, Any]]


def set_jax_vjp_cache_size(size: int) -> None:
    """Accepted for modules that set it; pullbacks are not kept between calls here."""
    if size < 0:
        raise ValueError("the size of a cache can't be negative")


def _as_jax(tree: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def leaf(value: Any) -> Any:
        return jnp.asarray(value) if isinstance(value, np.ndarray | np.generic) else value

    return jax.tree.map(leaf, tree)


@functools.cache
def _jitted(kind: str) -> Callable[..., Any]:
    import equinox as eqx

    return eqx.filter_jit({"jvp": _jvp, "vjp": _vjp, "jacobian": _jacobian}[kind])


def jax_apply(apply_jit: Function, inputs: Any) -> dict[str, Any]:
    """`apply`: the function of the inputs as a dict."""
    return apply_jit(_as_jax(inputs.model_dump()))


def jax_jvp(
    apply_jit: Function,
    inputs: Any,
    jvp_inputs: Iterable[str],
    jvp_outputs: Iterable[str],
    tangent_vector: Mapping[str, Any],
) -> dict[str, Any]:
    """`jacobian_vector_product`."""
    tree = _as_jax(inputs.model_dump())
    tangents = _as_jax(dict(sorted(tangent_vector.items())))
    ins, outs = tuple(sorted(jvp_inputs)), tuple(sorted(jvp_outputs))
    return dict(_jitted("jvp")(apply_jit, tree, ins, outs, tangents))


def jax_vjp(
    apply_jit: Function,
    inputs: Any,
    vjp_inputs: Iterable[str],
    vjp_outputs: Iterable[str],
    cotangent_vector: Mapping[str, Any],
) -> dict[str, Any]:
    """`vector_jacobian_product`."""
    tree = _as_jax(inputs.model_dump())
    cotangents = _as_jax(dict(sorted(cotangent_vector.items())))
    ins, outs = tuple(sorted(vjp_inputs)), tuple(sorted(vjp_outputs))
    return dict(_jitted("vjp")(apply_jit, tree, ins, outs, cotangents))


def jax_jacobian(
    apply_jit: Function, inputs: Any, jac_inputs: Iterable[str], jac_outputs: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """`jacobian`."""
    tree = _as_jax(inputs.model_dump())
    ins, outs = tuple(sorted(jac_inputs)), tuple(sorted(jac_outputs))
    return dict(_jitted("jacobian")(apply_jit, tree, ins, outs))


def jax_abstract_eval(apply_jit: Function, abstract_inputs: Any) -> dict[str, Any]:
    """`abstract_eval`: shapes and dtypes without computing."""
    import equinox as eqx
    import jax

    tree = abstract_inputs.model_dump()
    is_shape = _is_shape
    array_tree = jax.tree.map(
        lambda v: jax.ShapeDtypeStruct(tuple(v["shape"]), v["dtype"]) if is_shape(v) else v,
        tree,
        is_leaf=is_shape,
    )
    outputs = eqx.filter_eval_shape(apply_jit, array_tree)
    return dict(
        jax.tree.map(
            lambda v: (
                {"shape": tuple(v.shape), "dtype": str(v.dtype)}
                if isinstance(v, jax.ShapeDtypeStruct)
                else v
            ),
            outputs,
        )
    )


def _is_shape(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"shape", "dtype"}


def _flat(
    function: Function, tree: Any, ins: tuple[str, ...], outs: tuple[str, ...]
) -> tuple[Callable[[dict[str, Any]], dict[str, Any]], dict[str, Any]]:
    return filter_func(function, tree, outs), flatten_with_paths(tree, ins)


def _jvp(
    function: Function, tree: Any, ins: tuple[str, ...], outs: tuple[str, ...], tangents: Any
) -> Any:
    import jax

    flat, point = _flat(function, tree, ins, outs)
    return jax.jvp(flat, (point,), (tangents,))[1]


def _vjp(
    function: Function, tree: Any, ins: tuple[str, ...], outs: tuple[str, ...], cotangents: Any
) -> Any:
    import jax

    flat, point = _flat(function, tree, ins, outs)
    return jax.vjp(flat, point)[1](cotangents)[0]


def _jacobian(function: Function, tree: Any, ins: tuple[str, ...], outs: tuple[str, ...]) -> Any:
    import jax

    flat, point = _flat(function, tree, ins, outs)
    return jax.jacrev(flat)(point)
