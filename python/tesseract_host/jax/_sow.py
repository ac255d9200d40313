"""`sow` and `save_intermediates`: values inside of a function, its tangents and cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import Literal
from jax.interpreters import ad, batching, mlir

from tesseract_host.jax import _compat
from tesseract_host.jax._compat import Primitive, is_zero

Value = TypeVar("Value")
Found = list[tuple[str, str, Any, list[Any]]]  # name, mode, structure, leaves

sow_p = Primitive("tesseract_sow")
sow_p.multiple_results = True


def sow(value: Value, name: str, *, tag: str = "intermediates") -> Value:
    """Marks a value for `save_intermediates`; returns it.

    Args:
        value: a pytree of arrays.
        name: its key in what `save_intermediates` returns; once for each function.
        tag: `save_intermediates` takes the values of one tag.
    """
    leaves, tree = jax.tree.flatten(value)
    found = sow_p.bind(*leaves, name=name, tag=tag, mode="primal", tree=tree)
    same: Value = jax.tree.unflatten(tree, found)
    return same


def save_intermediates(
    function: Callable[..., Any], *, tag: str = "intermediates"
) -> Callable[..., tuple[Any, dict[str, dict[str, Any]]]]:
    """Returns a function that returns what `function` does and what was sown meanwhile.

    To be the outermost transformation.  The second result has for each name a dict with "primal",
    and "tangent" or "cotangent" if `function` is a derivative.  Values sown inside of `jit` and
    `checkpoint` are found, those inside of `scan` stacked; those in branches of `cond` and in
    `while_loop` are not.

    Raises ValueError, when called, if a name was used twice.
    """

    def wrapped(*arguments: Any, **keywords: Any) -> tuple[Any, dict[str, dict[str, Any]]]:
        closed, shape = jax.make_jaxpr(
            lambda *inner: function(*inner, **keywords), return_shape=True
        )(*arguments)
        jaxpr, constants = _compat.open_jaxpr(closed)
        found: Found = []
        results = _run(jaxpr, constants, jax.tree.leaves(arguments), tag, found)
        return jax.tree.unflatten(jax.tree.structure(shape), results), _by_name(found)

    return wrapped


def _by_name(found: Found) -> dict[str, dict[str, Any]]:
    named: dict[str, dict[str, Any]] = {}
    for name, mode, tree, leaves in found:
        modes = named.setdefault(name, {})
        if mode in modes:
            raise ValueError(
                f"Duplicate sow name {name!r} (mode={mode!r}): one can be used once in a function"
            )
        modes[mode] = jax.tree.unflatten(tree, leaves)
    return named


# ---- Evaluation that notes what is sown ---------------------------------------------------------


def _run(
    jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any], tag: str, found: Found
) -> list[Any]:
    values: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else values[variable]

    values.update(zip(jaxpr.constvars, constants, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        operands = [read(variable) for variable in equation.invars]
        results = _evaluated(equation, operands, tag, found)
        if not equation.primitive.multiple_results:
            results = [results]
        values.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _evaluated(equation: Any, operands: list[Any], tag: str, found: Found) -> Any:
    primitive, parameters = equation.primitive, equation.params
    if primitive is sow_p:
        if parameters["tag"] == tag:
            found.append((parameters["name"], parameters["mode"], parameters["tree"], operands))
        return operands
    inner = parameters.get("jaxpr")
    if inner is None:
        inner = parameters.get("call_jaxpr")
    if inner is not None and _sows(inner, tag):
        if primitive.name == "scan":
            return _scanned(inner, operands, parameters, tag, found)
        if primitive.name in ("jit", "pjit"):
            return _jitted(inner, operands, tag, found)
        opened, constants = _compat.open_jaxpr(inner)
        if len(opened.invars) == len(operands) and primitive.name != "shard_map":
            noted: Found = []
            results = _run(opened, constants, operands, tag, noted)
            found += _without_repeated(noted, found) if parameters.get("differentiated") else noted
            return results
    return _compat.bind_again(equation, operands)


def _without_repeated(noted: Found, found: Found) -> Found:
    """What `checkpoint` computes a second time is noted once."""
    known = {(name, mode) for name, mode, *_rest in found}
    return [entry for entry in noted if entry[1] != "primal" or (entry[0], "primal") not in known]


def _sows(jaxpr: Any, tag: str) -> bool:
    opened, _constants = _compat.open_jaxpr(jaxpr)
    for equation in opened.eqns:
        if equation.primitive is sow_p and equation.params["tag"] == tag:
            return True
        for key in ("jaxpr", "call_jaxpr"):
            if key in equation.params and _sows(equation.params[key], tag):
                return True
    return False


def _jitted(jaxpr: Any, operands: list[Any], tag: str, found: Found) -> list[Any]:
    opened, constants = _compat.open_jaxpr(jaxpr)
    names: list[tuple[str, str, Any]] = []

    def body(*arguments: Any) -> Any:
        inner: Found = []
        results = _run(opened, constants, arguments, tag, inner)
        names[:] = [(name, mode, tree) for name, mode, tree, _leaves in inner]
        return results, [leaves for _name, _mode, _tree, leaves in inner]

    results, leaves = jax.jit(body)(*operands)
    found += [(*name, own) for name, own in zip(names, leaves, strict=True)]
    return results  # type: ignore[no-any-return]


def _scanned(jaxpr: Any, operands: list[Any], parameters: Any, tag: str, found: Found) -> list[Any]:
    opened, constants = _compat.open_jaxpr(jaxpr)
    fixed, carried = _compat.scan_counts(parameters)
    names: list[tuple[str, str, Any]] = []

    def body(carry: Any, slices: Any) -> Any:
        inner: Found = []
        arguments = [*operands[:fixed], *carry, *slices]
        results = _run(opened, constants, arguments, tag, inner)
        names[:] = [(name, mode, tree) for name, mode, tree, _leaves in inner]
        return results[:carried], (results[carried:], [leaves for *_name, leaves in inner])

    final, (stacked, leaves) = jax.lax.scan(
        body,
        operands[fixed : fixed + carried],
        operands[fixed + carried :],
        length=parameters["length"],
        reverse=parameters["reverse"],
        unroll=parameters["unroll"],
    )
    found += [(*name, own) for name, own in zip(names, leaves, strict=True)]
    return [*final, *stacked]


# ---- The primitive ------------------------------------------------------------------------------


def _jvp(primals: Any, tangents: Any, **parameters: Any) -> Any:
    results = sow_p.bind(*primals, **parameters)
    whole = [
        jnp.zeros_like(primal) if is_zero(tangent) else tangent
        for primal, tangent in zip(primals, tangents, strict=True)
    ]
    if all(is_zero(tangent) for tangent in tangents):
        return results, [_compat.zero_tangent(result) for result in results]
    sown = sow_p.bind(*whole, **{**parameters, "mode": "tangent"})
    return results, [
        _compat.zero_tangent(result) if is_zero(tangent) else one
        for result, tangent, one in zip(results, tangents, sown, strict=True)
    ]


def _transpose(cotangents: Any, *operands: Any, **parameters: Any) -> Any:
    whole = [
        _zeros(cotangent.aval) if isinstance(cotangent, ad.Zero) else cotangent
        for cotangent in cotangents
    ]
    sown = sow_p.bind(*whole, **{**parameters, "mode": "cotangent"})
    return [
        None if not _compat.is_undefined(operand) else (cotangent if is_zero(cotangent) else one)
        for operand, cotangent, one in zip(operands, cotangents, sown, strict=True)
    ]


def _zeros(aval: Any) -> Any:
    dtype = jnp.bool_ if aval.dtype == jax.dtypes.float0 else aval.dtype
    return jnp.zeros(aval.shape, dtype)


def _batched(operands: Any, axes: Any, **parameters: Any) -> Any:
    return sow_p.bind(*operands, **parameters), axes


sow_p.def_impl(lambda *operands, **_parameters: list(operands))
sow_p.def_abstract_eval(lambda *avals, **_parameters: list(avals))
mlir.register_lowering(sow_p, lambda _context, *operands, **_parameters: operands)
ad.primitive_jvps[sow_p] = _jvp
ad.primitive_transposes[sow_p] = _transpose
batching.primitive_batchers[sow_p] = _batched
_compat.set_dce_rule(sow_p, lambda _used, eqn: ([True] * len(eqn.invars), eqn))
