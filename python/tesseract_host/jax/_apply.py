"""`apply_tesseract`, and what may be said of a component before it is called."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from tesseract_host import Tesseract
from tesseract_host.jax import (
    _adapter,
    _compat,
    _ending,
    _in_place,
    _primitives,
    _rows,
    _shapes,
)
from tesseract_host.jax._compat import Tracer
from tesseract_host.jax._layout import Layout, static_key
from tesseract_host.jax._outputs import from_result
from tesseract_host.jax._spec import (
    VMAP_METHODS,
    Handle,
    Lane,
    Options,
    Spec,
    handle_of,
    remember,
)

VmapMethod: TypeAlias = (
    Literal["sequential", "auto_experimental", "expand_dims", "broadcast_all"] | None
)

CHECK_VARIABLE = "TESSERACT_JAX_CHECK_STATIC_OUTPUTS"
_FALSE = frozenset(("0", "false", "no", "off", "n", "f", ""))

_flatten = jax.tree.flatten


def apply_tesseract(
    tesseract: Tesseract,
    inputs: Any,
    *,
    vmap_method: VmapMethod = None,
    materialize_jacobian: bool | None = None,
    check_static_outputs: bool | None = None,
) -> Any:
    """Calls a component, eagerly or inside of JAX's transformations.

    Args:
        tesseract: the component.
        inputs: a pytree as the component's schema has it.  Arrays of JAX and NumPy are traced;
            numbers given for array fields become arrays; all other leaves are static, so that
            another value compiles anew.
        vmap_method: what `jax.vmap` does: "sequential" calls once for each element, in a loop
            inside of one foreign call; so does None, unless the component has a batch axis of its
            own and only what has it is mapped: then it makes one call.  "expand_dims" gives arrays
            that aren't mapped a leading axis of length 1 and makes one call, "broadcast_all" the
            whole axis; "auto_experimental" is "expand_dims" where all mapped inputs are
            differentiable and have any rank, else "sequential".
        materialize_jacobian: how many (co)tangents at one point are dealt with: True by one call
            of `jacobian` and products, False by `vmap_method`; None by `jacobian` where it is
            offered and no more costly than a call for each.
        check_static_outputs: whether to warn if `apply` returns other values in outputs that are
            no arrays than `abstract_eval` did; None: as the environment variable
            TESSERACT_JAX_CHECK_STATIC_OUTPUTS says, else yes.

    Returns:
        A pytree of the structure of the component's outputs: JAX arrays, and outputs that are no
        arrays as `abstract_eval` gives them.

    Raises:
        TypeError: `tesseract` is none; a list, text or other object stands where the schema has an
            array; an array or a traced value stands where it has none.
        OverflowError: an integer given for an array has more bits than JAX's have now.
        ValueError: `tesseract` is a view by `with_calls`; `vmap_method` is unknown; an output has
            64 bits while JAX's are off; the shapes of outputs aren't known, since the component has
            no `abstract_eval`.
        Exception: what `abstract_eval` raises, unwrapped.
    """
    if not isinstance(tesseract, Tesseract):
        raise _no_tesseract(tesseract)
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"Unknown vmap_method: {vmap_method!r}. Must be one of {VMAP_METHODS}.")
    if materialize_jacobian is not None and type(materialize_jacobian) is not bool:
        raise TypeError(
            f"materialize_jacobian must be None, True or False, not {materialize_jacobian!r}"
        )
    way = tesseract._way
    if way.stream or not way.allow_copy:
        raise ValueError(
            "a view by with_calls can't be called from JAX, which says the stream itself and takes "
            "what is copied as it comes: pass the component it was made of"
        )
    handle = handle_of(tesseract._client)
    leaves, treedef = _flatten(inputs)
    layout = handle.layouts.get(treedef) or handle.layout(treedef)
    operands, statics, mask = layout.split(leaves)
    types = tuple([(operand.shape, operand.dtype) for operand in operands])
    if check_static_outputs is None:
        check_static_outputs = _checks()
    key = (
        treedef,
        mask,
        types,
        static_key(statics) if statics else (),
        vmap_method,
        materialize_jacobian,
        check_static_outputs,
        way.staged,
        handle.stateful,
        handle.zero_tangents,
        handle.lane,
        handle.in_place,
        handle.rows,
        _compat.config.jax_enable_x64,
    )
    spec = handle.specs.get(key)
    if spec is None or not spec.outputs.exact:
        if not handle.stateful and _is_eager_only(handle, operands):
            return _eager(handle, layout, mask, statics, operands, key)
        options = Options(*key[4:8], handle)
        spec = spec or _new_spec(handle, layout, mask, statics, operands, types, options, key)
    results = _primitives.apply_p.bind(
        *_primitives.alike(operands), spec=spec, wrt=(), outs=spec.all_outputs, batch=()
    )
    return spec.outputs.assembled(results)


def _new_spec(
    handle: Handle,
    layout: Layout,
    mask: tuple[bool, ...],
    statics: tuple[Any, ...],
    operands: list[Any],
    types: Any,
    options: Options,
    key: Any,
) -> Spec:
    outputs = _shapes.outputs_of(handle, layout, mask, statics, operands, types)
    spec = Spec(handle, layout, mask, statics, types, outputs, options, key)
    remember(handle.specs, key, spec)
    return spec


def _is_eager_only(handle: Handle, operands: list[Any]) -> bool:
    return not handle.offers("abstract_eval") and not any(isinstance(o, Tracer) for o in operands)


def _eager(
    handle: Handle,
    layout: Layout,
    mask: tuple[bool, ...],
    statics: tuple[Any, ...],
    operands: list[Any],
    key: Any,
) -> Any:
    """A call of a component without `abstract_eval`, whose result tells what later ones return."""
    arrays = [np.asarray(operand) for operand in operands]
    result = _shapes.call(handle, layout, mask, statics, arrays)
    outputs = from_result(result, handle.outputs, handle.name)
    options = Options(key[4], key[5], key[6], key[7], handle)
    spec = Spec(handle, layout, mask, statics, key[2], outputs, options, key)
    remember(handle.specs, key, spec)
    values, _others = outputs.taken_apart(result)
    return outputs.assembled([jnp.asarray(value) for value in values])


def _checks() -> bool:
    return os.environ.get(CHECK_VARIABLE, "1").strip().lower() not in _FALSE


def _no_tesseract(value: Any) -> TypeError:
    hint = ""
    if type(value).__module__.startswith("tesseract_core"):
        hint = (
            ": open it by tesseract_host.Tesseract.from_tesseract_api, or use tesseract-jax for "
            "Tesseracts in containers and on servers"
        )
    return TypeError(
        "The first argument must be a Tesseract object of tesseract_host, "
        f"got {type(value)} instead{hint}"
    )


def register(
    tesseract: Tesseract,
    *,
    stateful: bool = False,
    zero_tangents: bool = False,
    lane: Lane | None = None,
    in_place: Mapping[str, str] | None = None,
    batched: Iterable[str] | None = None,
) -> Tesseract:
    """Says how a component is called from compiled programs; before it is traced.

    Programs that were compiled before keep what held then.  Also has the component known by its
    name in compiled programs, for programs that were compiled by, or exported from, another
    process.

    Args:
        tesseract: the component.
        stateful: equal calls may give different results: none is merged with another or dropped
            because its result isn't used, those of derivatives neither.  Their order is not
            promised.
        zero_tangents: tangents of outputs that aren't differentiable are zero instead of NaN.
        lane: how compiled programs call it: "native" straight, on any thread; "python" so, but on
            the thread that dispatches the program; "carrier" by a callback of JAX, for modules
            that use JAX themselves; None: by what it is.
        in_place: outputs of `apply` that are written over inputs, as `{"output": "input"}`, where
            a call has both in one shape and dtype and is not mapped: donated arrays, and those
            that a loop carries, are then updated without another buffer.  If the input is needed
            after the call, or wasn't donated, it is copied before.
        batched: paths of the arrays whose first axis is the component's own batch axis, "xs.[]"
            for all elements of a list: each row of an output depends on the same row of these
            inputs, and on the other inputs, which all rows share; outputs that aren't listed
            depend on no row, and derivatives by inputs that aren't are summed over the rows.  A
            call that is mapped over them is one call with more rows.  None: as a native
            component's description says.

    Returns:
        `tesseract`.

    Raises:
        TypeError: `tesseract` is none.
        ValueError: `lane` is unknown; `in_place` names paths that aren't there, have other dtypes,
            or an input twice, or the component's description doesn't say `"overlap": true`;
            `batched` names what is no array, or has a first axis of fixed length, or none.
    """
    if not isinstance(tesseract, Tesseract):
        raise _no_tesseract(tesseract)
    if lane not in (None, "native", "python", "carrier"):
        raise ValueError(f"lane is {lane!r}; must be None, 'native', 'python' or 'carrier'")
    handle = handle_of(tesseract._client)
    pairs = _in_place.pairs(handle, in_place)
    rows = _rows.registered(handle, batched)
    handle.stateful = stateful
    handle.zero_tangents = zero_tangents
    handle.lane = lane
    handle.in_place = pairs
    handle.rows = rows
    if not _adapter.missing():
        _adapter.add(handle.client)
        _ending.watch(handle.client, None)
    return tesseract
