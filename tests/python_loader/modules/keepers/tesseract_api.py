"""Keeps something of its inputs, in one of many ways, and reads it in a later call."""

import contextvars
import copy
import ctypes
import functools
import io
import itertools
import queue
import threading
import weakref
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]
    z: Array[(None,), Float64] = np.zeros(1)
    how: str = ""
    read: bool = False


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]
    read: list[float]


variable: contextvars.ContextVar = contextvars.ContextVar("variable")
context = contextvars.copy_context()


class Plain:
    pass


class Slotted:
    __slots__ = ("x",)


def exception(inputs: InputSchema) -> Exception:
    x = inputs.x
    try:
        raise ValueError(len(x))
    except ValueError as error:
        return error


def locals_of(error: BaseException) -> Any:
    return error.__traceback__.tb_frame.f_locals["x"]


def thread(inputs: InputSchema) -> Any:
    go_on, found = threading.Event(), []
    ready = threading.Event()

    def wait(x: np.ndarray) -> None:
        ready.set()
        go_on.wait()
        found.extend(float(value) for value in x)

    waiting = threading.Thread(target=wait, args=(inputs.x,), daemon=True)
    waiting.start()
    ready.wait()
    return go_on, waiting, found


def ask_thread(kept: Any) -> list[float]:
    go_on, waiting, found = kept
    go_on.set()
    waiting.join(30.0)
    return found


def in_context(inputs: InputSchema) -> None:
    context.run(variable.set, inputs.x)


def attribute(inputs: InputSchema, holder: Any) -> Any:
    holder.x = inputs.x
    return holder


def closure(inputs: InputSchema) -> Any:
    x = inputs.x
    return lambda: x


def default(inputs: InputSchema) -> Any:
    def function(x: np.ndarray = inputs.x) -> np.ndarray:
        return x

    return function


def cached(inputs: InputSchema) -> Any:
    @functools.cache
    def function() -> np.ndarray:
        return inputs.x

    function()
    return function


def cycle(inputs: InputSchema) -> Any:
    items: list[Any] = [inputs.x]
    items.append(items)
    return items


def filled(inputs: InputSchema) -> queue.Queue:
    waiting: queue.Queue = queue.Queue()
    waiting.put(inputs.x)
    return waiting


def coroutine(inputs: InputSchema) -> Any:
    async def work(x: np.ndarray) -> np.ndarray:
        return x

    return work(inputs.x)


def finish(kept: Any) -> Any:
    try:
        kept.send(None)
    except StopIteration as stop:
        return stop.value
    return []


def jax_array(inputs: InputSchema) -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(inputs.x)


def same(kept: Any) -> Any:
    return kept


# Way: (what is kept of the inputs, what is read of that).
WAYS: dict[str, tuple[Any, Any]] = {
    "inputs": (lambda i: i, lambda k: k.x),
    "dict of inputs": (lambda i: i.__dict__, lambda k: k["x"]),
    "copy of inputs": (copy.copy, lambda k: k.x),
    "deep copy of inputs": (copy.deepcopy, lambda k: k.x),
    "dump": (lambda i: i.model_dump(), lambda k: k["x"]),
    "names": (lambda i: i.model_fields_set, lambda k: [float("x" in k), float("z" in k)]),
    "bound method of inputs": (lambda i: i.model_dump, lambda k: k()["x"]),
    "iterator of inputs": (iter, lambda k: next(k)[1]),
    "array": (lambda i: i.x, same),
    "list": (lambda i: [[i.x], i.x], lambda k: k[0][0]),
    "tuple": (lambda i: (i.x, 1), lambda k: k[0]),
    "dict": (lambda i: {"a": {"b": i.x}}, lambda k: k["a"]["b"]),
    "set of identities": (lambda i: {id(i.x): i.x}, lambda k: next(iter(k.values()))),
    "cycle": (cycle, lambda k: k[1][0]),
    "attribute": (lambda i: attribute(i, Plain()), lambda k: k.x),
    "slot": (lambda i: attribute(i, Slotted()), lambda k: k.x),
    "closure": (closure, lambda k: k()),
    "default": (default, lambda k: k()),
    "partial": (lambda i: functools.partial(np.copy, i.x), lambda k: k()),
    "cache": (cached, lambda k: k()),
    "queue": (filled, lambda k: k.get()),
    "finalizer": (lambda i: weakref.finalize(Plain, len, i.x), lambda k: k.peek()[2][0]),
    "context": (in_context, lambda k: context[variable]),
    "exception": (exception, locals_of),
    "thread": (thread, ask_thread),
    "coroutine": (coroutine, finish),
    "generator": (lambda i: (v for v in i.x), list),
    "iterator": (lambda i: iter(i.x), list),
    "chain": (lambda i: itertools.chain(i.x, i.x[:0]), list),
    "map": (lambda i: map(float, i.x), list),
    "bound method": (lambda i: i.x.tolist, lambda k: k()),
    "slice": (lambda i: i.x[1:], lambda k: [5.0, *k]),
    "backwards": (lambda i: i.x[::-1], lambda k: k[::-1]),
    "reshape": (lambda i: i.x.reshape(2, 2), lambda k: k.ravel()),
    "transpose": (lambda i: i.x.reshape(2, 2).T, lambda k: k.T.ravel()),
    "new axis": (lambda i: i.x[None, :, None], lambda k: k.ravel()),
    "view of bytes": (lambda i: i.x.view(np.uint8), lambda k: k.view(np.float64)),
    "real part": (lambda i: i.x.real, same),
    "masked": (lambda i: np.ma.array(i.x, copy=False), lambda k: k.data),
    "broadcast": (lambda i: np.broadcast_to(i.x, (2, 4)), lambda k: k[1]),
    "scalar": (lambda i: list(i.x), same),
    "copied": (lambda i: i.x.copy(), same),
    "bytes": (lambda i: i.x.tobytes(), lambda k: np.frombuffer(k)),
    "file": (lambda i: io.BytesIO(i.x), lambda k: np.frombuffer(k.getbuffer())),
    "weak reference": (lambda i: weakref.ref(i.x), lambda k: [float(k() is None)]),
    "base": (lambda i: i.x.base, lambda k: [float(k is not None)]),
    "memoryview": (lambda i: memoryview(i.x), list),
    "slice of memoryview": (lambda i: memoryview(i.x)[1:], lambda k: [5.0, *k]),
    "frombuffer": (lambda i: np.frombuffer(i.x), same),
    "dlpack": (lambda i: np.from_dlpack(i.x), same),
    "capsule": (lambda i: i.x.__dlpack__(max_version=(1, 0)), lambda k: []),
    "flat iterator": (lambda i: i.x.flat, list),
    "nditer": (lambda i: np.nditer(i.x), lambda k: [float(v) for v in k]),
    "multi-iterator": (lambda i: np.broadcast(i.x, i.x), lambda k: [a for a, _ in k]),
    "ctypes": (
        lambda i: i.x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
        lambda k: k[:4],
    ),
    "jax": (jax_array, same),
}

kept: list[Any] = []


def change(inputs: InputSchema) -> None:
    """Ways of changing the inputs in place, which nothing is kept of."""
    x = inputs.x
    how = inputs.how.removeprefix("change ")
    if how == "shape":
        x.shape = (2, 2)
    elif how == "strides":
        x.strides = (0,)
    elif how == "dtype":
        x.dtype = np.int64
    elif how == "replace":
        inputs.x = np.full(3, 9.0)
    elif how == "swap":
        inputs.x, inputs.z = inputs.z, inputs.x
    elif how == "delete":
        del inputs.x
    elif how == "names":
        inputs.model_fields_set.clear()
    elif how == "dict":
        inputs.__dict__.clear()
    elif how == "add":
        inputs.__dict__["more"] = x


def apply(inputs: InputSchema) -> OutputSchema:
    y = 2.0 * inputs.x
    read: list[float] = []
    if inputs.read and kept:
        way, item = kept.pop()
        read = [float(value) for value in WAYS[way][1](item)]
    if inputs.how.startswith("change "):
        change(inputs)
    elif inputs.how:
        kept.append((inputs.how, WAYS[inputs.how][0](inputs)))
    return OutputSchema(y=y, read=read)
