"""Does with its inputs what `code`, a number in a tensor, says; so that one prepared call can do
everything.
"""

import ctypes
import gc
import sys
import warnings
import weakref
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64
from tesseract_host.runtime import OutOfDomain

Vector = Array[(None,), Float64]


class Part(BaseModel):
    u: Vector
    label: str = "none"


class InputSchema(BaseModel):
    code: Float64
    x: Differentiable[Vector]
    z: Vector
    s: Differentiable[Float64] = 1.0
    part: Part | None = None
    table: dict[str, Vector] = {}
    steps: list[Vector] = []
    count: int = 3
    fixed: Array[(2,), Float64] | None = None


class OutputSchema(BaseModel):
    y: Differentiable[Vector]
    seen: str = ""
    number: float = 0.0


kept: list[Any] = []
calls = 0


class Holder:
    pass


def plain(inputs: InputSchema) -> None:
    pass


def keep(value: Any) -> None:
    kept.append(value)


def keep_exception(inputs: InputSchema) -> None:
    try:
        raise ValueError(inputs.x)
    except ValueError as error:
        keep(error)


def keep_weakly(inputs: InputSchema) -> None:
    keep((weakref.ref(inputs), weakref.ref(inputs.x)))


def reshape_in_place(inputs: InputSchema) -> None:
    inputs.x.shape = (2, 2)


def strides_in_place(inputs: InputSchema) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs.x.strides = (0,)


def dtype_in_place(inputs: InputSchema) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs.x.dtype = np.int64


def replace(inputs: InputSchema) -> None:
    inputs.x = np.zeros(7)


def swap(inputs: InputSchema) -> None:
    inputs.x, inputs.z = inputs.z, inputs.x


def delete(inputs: InputSchema) -> None:
    del inputs.x


def forget_name(inputs: InputSchema) -> None:
    inputs.model_fields_set.discard("x")
    inputs.model_fields_set.add("another")


def change_containers(inputs: InputSchema) -> None:
    inputs.table["new"] = inputs.x
    inputs.steps.append(inputs.z)
    del inputs.table["new"]


WAYS = {
    "plain": plain,
    "array": lambda inputs: keep(inputs.x),
    "slice": lambda inputs: keep(inputs.x[1:]),
    "reshape": lambda inputs: keep(inputs.x.reshape(2, 2)),
    "memoryview": lambda inputs: keep(memoryview(inputs.x)),
    "dlpack": lambda inputs: keep(np.from_dlpack(inputs.x)),
    "iterator": lambda inputs: keep(iter(inputs.x)),
    "generator": lambda inputs: keep(value for value in inputs.x),
    "bound method": lambda inputs: keep(inputs.model_dump),
    "dict": lambda inputs: keep(inputs.__dict__),
    "names": lambda inputs: keep(inputs.model_fields_set),
    "scalar": lambda inputs: keep(inputs.s),
    "weakly": keep_weakly,
    "exception": keep_exception,
    "instance": keep,
    "reshape in place": reshape_in_place,
    "strides in place": strides_in_place,
    "dtype in place": dtype_in_place,
    "replace": replace,
    "swap": swap,
    "delete": delete,
    "forget name": forget_name,
    "containers": change_containers,
}


def values_of(item: Any) -> Any:
    """What was kept, as numbers."""
    if isinstance(item, BaseModel):
        return item.x
    if isinstance(item, dict):
        return item["x"]
    if isinstance(item, set):
        return [float("x" in item), len(item)]
    if isinstance(item, ValueError):
        return item.args[0]
    if isinstance(item, tuple):
        return [float(reference() is None) for reference in item]
    if hasattr(item, "__next__"):
        return list(item)
    if callable(item):
        return item()["x"]
    return item


def describe(inputs: InputSchema) -> str:
    """All that can be told of the inputs but the numbers."""
    x = inputs.x
    try:
        x.setflags(write=True)
        writeable = True
    except ValueError:
        writeable = False
    part = inputs.part
    facts = [
        type(inputs).__name__,
        type(inputs).__mro__[1] is InputSchema,
        list(inputs.__dict__),
        sorted(inputs.model_fields_set),
        inputs.model_extra,
        inputs.__pydantic_private__,
        type(x).__name__,
        x.dtype.name,
        x.flags.writeable or writeable,
        x.flags.c_contiguous and x.flags.aligned and not x.flags.owndata,
        type(inputs.s).__name__,
        None if part is None else (type(part).__name__, part.label, sorted(part.model_fields_set)),
        [type(inputs.table).__name__, list(inputs.table)],
        [type(inputs.steps).__name__, len(inputs.steps)],
        inputs.count,
        None if inputs.fixed is None else inputs.fixed.tolist(),
    ]
    return repr(facts)


def total(inputs: InputSchema) -> np.ndarray:
    result = inputs.s * inputs.x + inputs.z
    if inputs.part is not None:
        result = result + inputs.part.u
    for value in (*inputs.table.values(), *inputs.steps):
        result = result + value
    return result


def fail(how: str) -> Any:
    if how == "raise":
        raise RuntimeError("the mesh is tangled")
    if how == "domain":
        raise OutOfDomain("too far")
    if how == "interrupt":
        raise KeyboardInterrupt
    print("a line without an end", end="")
    warnings.warn("the mesh is coarse", stacklevel=1)
    return None


def returned(how: str, y: np.ndarray) -> Any:
    """Results of all kinds."""
    return {
        "instance": lambda: OutputSchema(y=y, seen="an instance"),
        "list": lambda: {"y": y.tolist()},
        "strided": lambda: {"y": np.repeat(y, 2)[::2]},
        "int": lambda: {"y": y.astype(np.int32)},
        "swapped": lambda: {"y": y.astype(">f8")},
        "missing": lambda: {"seen": "no y"},
        "unknown": lambda: {"y": y, "more": 1},
        "none": lambda: None,
        "rank": lambda: {"y": y[None]},
        "complex": lambda: {"y": y * 1j},
        "subclass": lambda: type("Sub", (OutputSchema,), {})(y=y, seen="a subclass"),
        "number": lambda: {"y": y, "number": 2},
        "text": lambda: {"y": y, "number": "2.5"},
        "longer": lambda: {"y": np.concatenate([y, y])},
    }[how]()


RETURNED = ["instance", "list", "strided", "int", "swapped", "missing", "unknown", "none", "rank"]
RETURNED += ["complex", "subclass", "number", "text", "longer"]
FAILURES = ["raise", "domain", "interrupt", "print"]


def apply(inputs: InputSchema) -> Any:
    global calls
    calls += 1
    code = int(inputs.code)
    if code < 0:
        return special(-code, inputs)
    if code >= 200:
        fail(FAILURES[code - 200])
    elif code >= 100:
        return returned(RETURNED[code - 100], total(inputs))
    else:
        way = list(WAYS)[code]
        if code:
            y = total(inputs)
            WAYS[way](inputs)
            return {"y": y, "seen": way}
    return {"y": total(inputs)}


def special(code: int, inputs: InputSchema) -> Any:
    if code == 1:
        return {"y": np.array(values_of(kept[-1]), dtype=np.float64).ravel()}
    if code == 2:
        return {"y": np.zeros(0), "seen": describe(inputs)}
    if code == 3:
        return {"y": np.zeros(0), "number": float(calls)}
    if code == 4:
        return {"y": np.zeros(0), "number": float(inputs.x.__array_interface__["data"][0])}
    if code == 5:
        gc.collect()
        return {"y": np.zeros(0), "number": float(sys.getallocatedblocks())}
    if code == 7:
        address = inputs.x.__array_interface__["data"][0]
        ctypes.memset(address, 0, 8 * len(inputs.x))
        return {"y": total(inputs)}
    print("inside")  # the test's log calls again
    return {"y": total(inputs)}


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set, vjp_outputs: set, cotangent_vector: dict
) -> Any:
    code, seed = int(inputs.code), cotangent_vector["y"]
    assert type(vjp_inputs) is set and type(vjp_outputs) is set and type(cotangent_vector) is dict
    assert type(inputs).__name__ == "Vjp_InputSchema" and not seed.flags.writeable
    found = {"x": inputs.s * seed, "s": float(seed @ inputs.x)}
    result = {path: found[path] for path in vjp_inputs}
    vjp_inputs.clear()
    vjp_outputs.add("nothing")
    cotangent_vector.clear()
    if code == 1:
        keep(seed)
    elif code == 2:
        del result["x"]
    elif code == 3:
        result["x"] = np.zeros((2, 2))
    elif code == 4:
        raise OutOfDomain("too steep")
    return result


def jacobian_vector_product(
    inputs: InputSchema, jvp_inputs: set, jvp_outputs: set, tangent_vector: dict
) -> Any:
    assert type(inputs).__name__ == "Jvp_InputSchema" and jvp_inputs == set(tangent_vector)
    y = np.zeros(len(inputs.x))
    if "x" in tangent_vector:
        y = y + inputs.s * tangent_vector["x"]
    if "s" in tangent_vector:
        y = y + tangent_vector["s"] * inputs.x
    return dict.fromkeys(jvp_outputs, y)


def jacobian(inputs: InputSchema, jac_inputs: set, jac_outputs: set) -> Any:
    assert type(inputs).__name__ == "Jacobian_InputSchema"
    found = {"x": inputs.s * np.eye(len(inputs.x)), "s": inputs.x.copy()}
    return {"y": {path: found[path] for path in jac_inputs}}
