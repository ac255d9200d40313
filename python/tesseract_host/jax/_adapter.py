"""The adapter library, which XLA calls, as Python sees it."""

from __future__ import annotations

import ctypes
import functools
import threading
import warnings
import weakref
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from tesseract_host import _native
from tesseract_host.jax import _compat

FILE = "tesseract_jax.so"

# The names of the handlers in compiled programs: for all calls, and for those on CUDA that XLA may
# capture into a graph.
TARGET = "tesseract_host_call"
CAPTURED = "tesseract_host_call_captured"
HANDLERS = (
    (TARGET, "cpu", "tesseract_jax_cpu"),
    (TARGET, "CUDA", "tesseract_jax_cuda"),
    (CAPTURED, "CUDA", "tesseract_jax_cuda_captured"),
)

# TESSERACT_…
_OK = 0
_ERRORS: dict[int, type[Exception]] = {
    1: ValueError,
    2: ValueError,
    4: NotImplementedError,
    6: ValueError,
    8: MemoryError,
}
_CODES = {
    **dict.fromkeys((1, 2, 6), "INVALID_ARGUMENT"),
    **dict.fromkeys((3, 4), "UNIMPLEMENTED"),
    **dict.fromkeys((5, 10, 11), "FAILED_PRECONDITION"),
    8: "RESOURCE_EXHAUSTED",
}

_Warn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)
_text = (ctypes.c_char_p, ctypes.c_uint64)
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "tesseract_jax_add": (ctypes.c_int32, (*_text, ctypes.c_void_p)),
    "tesseract_jax_remove": (None, _text),
    "tesseract_jax_prepare": (
        ctypes.c_int32,
        (*_text, *_text, *_text, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)),
    ),
    "tesseract_jax_run": (
        ctypes.c_int32,
        (
            ctypes.c_uint64,
            *(ctypes.c_void_p, ctypes.c_int64),
            *(ctypes.c_void_p, ctypes.c_int64),
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_void_p),
        ),
    ),
    "tesseract_jax_free": (None, (ctypes.c_void_p,)),
    "tesseract_jax_on_difference": (None, (_Warn,)),
    "tesseract_jax_calls": (ctypes.c_uint64, (*_text, *_text)),
    "tesseract_jax_running": (ctypes.c_uint64, _text),
    "tesseract_jax_prepared": (ctypes.c_uint64, ()),
}

_lock = threading.Lock()


@functools.cache
def library() -> Any:
    """The library, its handlers registered with JAX; ImportError if it isn't there."""
    from tesseract_host import _host

    _host.binding()  # first: it brings libtesseract_host, of which there is to be one
    file = next((path for path in _native.places(FILE) if path.is_file()), None)
    if file is None:
        raise ImportError(
            f"there is no {FILE}; looked for "
            + ", ".join(str(path) for path in _native.places(FILE))
        )
    try:
        loaded = ctypes.CDLL(str(file))
    except OSError as error:
        raise ImportError(f"{file} can't be loaded: {error}") from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    loaded.tesseract_jax_on_difference(_on_difference)
    for target, platform, name in HANDLERS:
        capsule = _compat.ffi.pycapsule(getattr(loaded, name))
        _compat.ffi.register_ffi_target(target, capsule, platform=platform)
    return loaded


@functools.cache
def missing() -> str:
    """Why there is no library; "" if there is one."""
    try:
        library()
    except ImportError as error:
        return str(error)
    return ""


def _warn_of_difference(text: int, length: int) -> None:
    """Called on the thread of a call, which holds nothing."""
    message = ctypes.string_at(text, length).decode(errors="replace")
    warnings.warn(message, UserWarning, stacklevel=2)


_on_difference = _Warn(_warn_of_difference)
NOBODY = _Warn()  # to be told


def add(client: Any) -> str:
    """Makes a client's component known by its identity, which is returned; until it is no more."""
    identity: str = client.identity
    if getattr(client, "_jax_added", False):
        return identity
    name = identity.encode()
    host = client.host()
    with _lock:  # a second time would end the calls that were prepared after the first
        if getattr(client, "_jax_added", False):
            return identity
        status = library().tesseract_jax_add(name, len(name), host.pointer)
        if status != _OK:
            raise RuntimeError(f"the JAX adapter did not take {identity}: status {status}")
        weakref.finalize(client, library().tesseract_jax_remove, name, len(name)).atexit = False
        client._jax_added = True
    return identity


def key_of(identity: str, endpoint: str, spec: str) -> int:
    """The number under which a call is found; of 63 bits, since MLIR takes no larger one."""
    text = f"{identity}\n{endpoint}\n{spec}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") & (2**63 - 1)


@dataclass(frozen=True)
class Prepared:
    """A call that the adapter has prepared: what a program has to say to make it."""

    identity: str
    endpoint: str
    spec: str
    key: int


def prepare(client: Any, endpoint: str, spec: str) -> Prepared:
    """Prepares a call, so that what is wrong with it is said before a program runs.

    Raises ValueError, NotImplementedError or RuntimeError.
    """
    identity = add(client)
    key = key_of(identity, endpoint, spec)
    message = ctypes.c_void_p()
    texts: list[Any] = []
    for text in (identity, endpoint, spec):
        data = text.encode()
        texts += [data, len(data)]
    status = library().tesseract_jax_prepare(*texts, key, ctypes.byref(message))
    if status != _OK:
        raise _ERRORS.get(status, RuntimeError)(taken_text(message.value))
    return Prepared(identity, endpoint, spec, key)


def address(function: str) -> int:
    """Where a function of the library is."""
    found = ctypes.cast(getattr(library(), function), ctypes.c_void_p).value
    assert found is not None
    return found


def taken_text(message: int | None) -> str:
    """A message of the library by its address, which is freed."""
    if not message:
        return "the call failed"
    try:
        return ctypes.string_at(message).decode(errors="replace")
    finally:
        library().tesseract_jax_free(message)


def code(status: int) -> str:
    """What XLA calls the errors of a status."""
    return _CODES.get(status, "INTERNAL")


def calls(identity: str, endpoint: str) -> int:
    """How many calls of an endpoint compiled programs made."""
    name, which = identity.encode(), endpoint.encode()
    count: int = library().tesseract_jax_calls(name, len(name), which, len(which))
    return count
