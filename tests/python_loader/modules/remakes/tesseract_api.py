"""Makes an instance of its output class in each call and does with it what `code` says."""

import gc
import weakref
from typing import Any

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, Float64

Vector = Array[(None,), Float64]


class InputSchema(BaseModel):
    code: Float64
    x: Differentiable[Vector]


class OutputSchema(BaseModel):
    y: Differentiable[Vector]
    z: Vector


kept: list[tuple[Any, list[float]]] = []
references: list[weakref.ref[Any]] = []


def values_of(item: Any) -> list[float]:
    if isinstance(item, OutputSchema):
        return item.y.tolist()
    if isinstance(item, dict):
        return item["y"].tolist()
    return np.asarray(item).tolist()


def keep(item: Any) -> None:
    kept.append((item, values_of(item)))


def swap(out: OutputSchema) -> None:
    out.y, out.z = out.z, out.y
    out.y, out.z = out.z, out.y


def replace(out: OutputSchema) -> None:
    out.__dict__["y"] = out.y.copy()


def reorder(out: OutputSchema) -> None:
    y = out.__dict__.pop("y")
    out.__dict__["y"] = y


def reshape(out: OutputSchema) -> None:
    out.z.shape = (1, out.z.size)
    keep(out.z)
    out.z = np.zeros(2)


WAYS = [
    lambda out: None,
    lambda out: keep(out.y),
    lambda out: keep(out.y[1:]),
    lambda out: keep(memoryview(out.y)),
    lambda out: references.append(weakref.ref(out.y)),
    lambda out: references.append(weakref.ref(out)),
    keep,
    lambda out: keep(out.__dict__),
    lambda out: out.model_fields_set.discard("y"),
    lambda out: keep(np.from_dlpack(out.z)),
    swap,
    replace,
    reorder,
    reshape,
]


def source(code: int, x: np.ndarray) -> np.ndarray:
    """An array of 2 x, made in one of several ways."""
    wide = np.zeros(x.size + 2)
    y = [2 * x, wide[1:-1], wide[: x.size], np.zeros((1, x.size))[0], 2 * x][code % 5]
    y[:] = 2 * x
    y.flags.writeable = code % 5 != 4
    return y


def check(out: OutputSchema, y: np.ndarray) -> None:
    assert type(out) is OutputSchema and list(out.__dict__) == ["y", "z"]
    assert out.model_fields_set == {"y", "z"}
    assert out.model_extra is None and out.__pydantic_private__ is None
    assert gc.is_tracked(out)
    for array in (out.y, out.z):
        assert type(array) is np.ndarray and not array.flags.writeable
        assert array.flags.c_contiguous and array.flags.aligned and array.ndim == 1
    assert (out.y is y) == (not y.flags.writeable)
    assert np.shares_memory(out.y, y)
    if y.flags.writeable:
        assert out.y.base is (y if y.base is None else y.base)
    for item, values in kept:
        assert values_of(item) == values
    for reference in references:
        assert reference() is None or reference() is not out


def apply(inputs: InputSchema) -> OutputSchema:
    code = int(inputs.code)
    references[:] = [reference for reference in references if reference() is not None]
    assert not references, "what nobody keeps has outlived its call"
    y = source(code // 100, inputs.x)
    z = np.ones(3)
    references.append(weakref.ref(z))
    out = OutputSchema(y=y, z=z) if code % 2 else OutputSchema(z=z, y=y)
    check(out, y)
    WAYS[code % 100](out)
    if code % 100 in (6, 7, 9, 13):
        references.clear()
    return out


vectors: list[tuple[dict[str, Any], list[float]]] = []


def vector_jacobian_product(
    inputs: InputSchema, vjp_inputs: set, vjp_outputs: set, cotangent_vector: dict
) -> Any:
    code, seed = int(inputs.code), cotangent_vector["y"]
    assert type(cotangent_vector) is dict and list(cotangent_vector) == ["y"]
    for vector, values in vectors:
        assert vector is not cotangent_vector and vector["y"].tolist() == values
    if code == 1:
        cotangent_vector["more"] = seed
    elif code == 2:
        cotangent_vector["y"] = np.zeros(3)
    elif code == 3:
        cotangent_vector.clear()
    elif code == 4:
        vectors.append((cotangent_vector, seed.tolist()))
    return {"x": 2 * seed}
