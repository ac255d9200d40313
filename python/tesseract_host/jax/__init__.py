"""Components inside of JAX: `apply_tesseract` under jit, grad, vmap, shard_map and the rest."""

from __future__ import annotations

try:
    import jax
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise ModuleNotFoundError(
        "tesseract_host.jax needs JAX: pip install tesseract-host[jax]", name="jax"
    ) from None

from tesseract_host import Tesseract
from tesseract_host.jax import _adapter, _batching, _dce, _derivatives, _lowering
from tesseract_host.jax._apply import apply_tesseract, register
from tesseract_host.jax._sow import save_intermediates, sow

__all__ = ["apply_tesseract", "register", "save_intermediates", "sow"]

# A Tesseract may be an argument of a transformed function: it has no leaves and is its own
# structure, equal only to itself.
jax.tree_util.register_pytree_node(
    Tesseract, lambda tesseract: ((), tesseract), lambda tesseract, _leaves: tesseract
)

# The handlers are made known at once: programs from other processes may call them.
_adapter.missing()

del _adapter, _batching, _dce, _derivatives, _lowering
