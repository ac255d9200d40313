"""What is not used is not asked for; calls of `apply` stay whole, so that equal ones can merge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from tesseract_host.jax._compat import set_dce_rule
from tesseract_host.jax._primitives import apply_p, jacobian_p, jvp_p, missing_p, vjp_p

Kept = tuple[list[bool], Any]


def _narrowed(equation: Any, used: Sequence[bool], **parameters: Any) -> Kept:
    outvars = list(compress(equation.outvars, used))
    kept = equation.replace(params={**equation.params, **parameters}, outvars=outvars)
    return [True] * len(equation.invars), kept


def _none(equation: Any) -> Kept:
    return [False] * len(equation.invars), None


def _apply(used: Sequence[bool], equation: Any) -> Kept:
    if any(used) or equation.params["spec"].options.stateful:
        return [True] * len(equation.invars), equation
    return _none(equation)


def _chosen(parameter: str) -> Any:
    def rule(used: Sequence[bool], equation: Any) -> Kept:
        if all(used) or equation.params["spec"].options.stateful:
            return [True] * len(equation.invars), equation
        if not any(used):
            return _none(equation)
        kept = tuple(compress(equation.params[parameter], used))
        return _narrowed(equation, used, **{parameter: kept})

    return rule


def _jacobian(used: Sequence[bool], equation: Any) -> Kept:
    wrt, outs = equation.params["wrt"], equation.params["outs"]
    if all(used) or equation.params["spec"].options.stateful:
        return [True] * len(equation.invars), equation
    if not any(used):
        return _none(equation)
    rows = [any(used[o * len(wrt) + i] for i in range(len(wrt))) for o in range(len(outs))]
    columns = [any(used[o * len(wrt) + i] for o in range(len(outs))) for i in range(len(wrt))]
    kept = [row and column for row in rows for column in columns]
    return _narrowed(
        equation, kept, wrt=tuple(compress(wrt, columns)), outs=tuple(compress(outs, rows))
    )


set_dce_rule(apply_p, _apply)
set_dce_rule(jvp_p, _chosen("outs"))
set_dce_rule(vjp_p, _chosen("wrt"))
set_dce_rule(jacobian_p, _jacobian)
set_dce_rule(missing_p, _chosen("outs"))
