"""What differs between the releases of JAX that are supported, 0.8.0 to 0.12.

Nothing else in this package asks which release runs, or touches a name that came or went.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core
import numpy as np
from jax.interpreters import ad
from jax.interpreters import partial_eval as pe
from jax.sharding import AxisType

VERSION = tuple(
    int("".join(c for c in part if c.isdigit()) or 0) for part in jax.__version__.split(".")
)[:3]

if VERSION < (0, 7, 0):
    raise ImportError(
        f"tesseract_host.jax needs jax 0.8 or later; this is {jax.__version__}: pip install -U jax"
    )

# Whether a program with a callback is run by the thread that dispatches it.
CALLBACKS_KEEP_ON_CALLER = VERSION >= (0, 8, 0)

Tracer = jax.core.Tracer
ShapedArray = jax.core.ShapedArray

# What JAX has no types for, or not in each release.
Primitive: Any = jax.extend.core.Primitive
ShapeDtypeStruct: Any = jax.ShapeDtypeStruct
PartitionSpec: Any = jax.sharding.PartitionSpec
ffi: Any = jax.ffi
lax: Any = jax.lax
is_undefined: Any = ad.is_undefined_primal
config: Any = jax.config
effects_barrier: Any = jax.effects_barrier


def varying(aval: Any) -> frozenset[str]:
    """The mesh axes over which a value varies inside of `shard_map` with `check_vma`."""
    kind = getattr(aval, "mat", None)
    if kind is not None:
        return frozenset(kind.varying)
    return frozenset(getattr(aval, "vma", None) or ())


def cast_varying(value: Any, axes: tuple[str, ...]) -> Any:
    """The value, as one that varies over these axes too."""
    if hasattr(lax, "pcast"):
        return lax.pcast(value, axes, to="varying")
    return lax.pvary(value, axes)


def alike(operands: Sequence[Any]) -> Sequence[Any]:
    """The operands, all varying over the union of the axes over which some of them vary."""
    if not any(isinstance(operand, Tracer) for operand in operands):
        return operands
    axes = [varying(jax.typeof(operand)) for operand in operands]
    union = frozenset().union(*axes)
    if not union:
        return operands
    return [
        operand if own == union else cast_varying(operand, tuple(sorted(union - own)))
        for operand, own in zip(operands, axes, strict=True)
    ]


def result_aval(operands: Sequence[Any], shape: tuple[Any, ...], dtype: Any) -> Any:
    """The abstract value of a result of operands with these abstract values."""
    for aval in operands:
        mesh = getattr(getattr(aval, "sharding", None), "mesh", None)
        if mesh is not None and not mesh.empty:
            spec = PartitionSpec(*(None,) * len(shape))
            sharding = jax.sharding.NamedSharding(mesh, spec)
            return aval.update(shape=shape, dtype=dtype, weak_type=False, sharding=sharding)
    return ShapedArray(shape, dtype)


def set_dce_rule(primitive: Any, rule: Any) -> None:
    """`rule(used, equation)` gives the operands that are used and the equation, or None for it."""

    def adapted(used: Any, *rest: Any) -> Any:  # 0.12 has an argument more between them
        return rule(used, rest[-1])

    pe.dce_rules[primitive] = adapted


@functools.cache
def call_effect() -> Any:
    """What JAX says of calls with side effects: that it may not drop them.

    That of foreign calls, which has no public name; a probe that isn't run has it.
    """
    probe = ffi.ffi_call(
        "tesseract_host_probe", ShapeDtypeStruct((), np.float32), has_side_effect=True
    )
    [foreign] = jax.make_jaxpr(lambda: probe())().effects
    return frozenset((foreign if VERSION >= (0, 11, 0) else _allowed_everywhere(foreign),))


def _allowed_everywhere(foreign: Any) -> Any:
    """Before 0.11 JAX takes foreign effects where it differentiates neither `checkpoint` nor rules
    of the user's.  Effects of debugging it takes there too: this is one, equal to the foreign one,
    and called by its name in exported programs.
    """
    kind = type(foreign)

    class CallEffect(jax.debug.DebugEffect):
        __class__ = kind

        def __eq__(self, other: object) -> bool:
            return isinstance(other, kind)

        def __hash__(self) -> int:
            return hash(foreign)

        def __str__(self) -> str:
            return str(foreign)

    return CallEffect()


def is_divided(context: Any) -> bool:
    """Whether XLA divides a call over devices; not where `shard_map` has done so."""
    axes = context.module_context.axis_context
    manual = getattr(axes, "manual_axes", None)
    if manual is None:
        return (getattr(axes, "num_devices", None) or 1) > 1
    return any(size > 1 for name, size in axes.mesh.shape.items() if name not in manual)


def is_zero(tangent: Any) -> bool:
    """Whether a tangent or cotangent is zero without being looked at."""
    return isinstance(tangent, ad.Zero) or getattr(tangent, "dtype", None) == jax.dtypes.float0


def zero_tangent(value: Any) -> Any:
    """The symbolic zero in the tangent space of a value."""
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def zero_cotangent(aval: Any) -> Any:
    """The symbolic zero of the cotangents of a linear operand with this abstract value."""
    convert = getattr(aval, "to_ct_aval", None) or aval.to_tangent_aval
    return ad.Zero(convert())


def as_cotangent(gradient: Any, aval: Any) -> Any:
    """The gradient by a linear operand with this abstract value, divided over devices as that is;
    of consequence where programs say so explicitly.
    """
    wanted = getattr(zero_cotangent(aval).aval, "sharding", None)
    if wanted is None or AxisType.Explicit not in (wanted.mesh.axis_types or ()):
        return gradient
    if jax.typeof(gradient).sharding.spec == wanted.spec:
        return gradient
    return (getattr(jax, "reshard", None) or jax.sharding.reshard)(gradient, wanted)


def is_explicitly_divided(value: Any) -> bool:
    """Whether a program says explicitly over which devices an axis of this array is divided."""
    sharding = getattr(jax.typeof(value), "sharding", None)
    if sharding is None or AxisType.Explicit not in (sharding.mesh.axis_types or ()):
        return False
    return any(part is not None for part in sharding.spec)


def for_export(context: Any) -> bool:
    """Whether a lowering is for `jax.export`, whose programs can hold no host callback."""
    parameters = getattr(context.module_context, "lowering_parameters", None)
    return bool(getattr(parameters, "for_export", False))


def keep_on_caller(context: Any) -> bool:
    """Has a program run on the thread that dispatches it; False where this release can't."""
    add = getattr(context.module_context, "add_host_callback", None)
    if add is None or not CALLBACKS_KEEP_ON_CALLER or for_export(context):
        return False
    add(_no_operation)
    return True


def _no_operation(*_arguments: Any) -> tuple[()]:
    return ()


def plain_array(value: Any) -> Any:
    """A NumPy array from whatever JAX wraps arrays in where it does not trace."""
    return value if isinstance(value, np.ndarray) else np.asarray(value)


def is_wide(dtype: Any) -> bool:
    """Whether JAX would narrow this dtype, because 64 bits are switched off."""
    if config.jax_enable_x64:
        return False
    return bool(jax.dtypes.canonicalize_dtype(dtype) != dtype)


def open_jaxpr(jaxpr: Any) -> tuple[Any, list[Any]]:
    """A jaxpr and its constants, closed or not."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return inner, list(getattr(jaxpr, "consts", ()) or ())


def scan_counts(parameters: Any) -> tuple[int, int]:
    """How many of a scan's operands are constants, and how many are carried."""
    if "num_carry" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    constants, carried, _scanned = parameters["ft_in"].unpack()
    return len(constants), len(carried)


def bind_again(equation: Any, operands: Sequence[Any]) -> Any:
    """The results of an equation for these operands."""
    parameters = equation.primitive.get_bind_params(equation.params)
    if isinstance(parameters, tuple):  # before 0.9 with what it calls apart
        functions, parameters = parameters
        return equation.primitive.bind(*functions, *operands, **parameters)
    return equation.primitive.bind(*operands, **parameters)
