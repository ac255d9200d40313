"""Hypothesis strategies: schemas as source text, and values that fit them or nearly do."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import support
from hypothesis import strategies as st


class Type(NamedTuple):
    """A type of a field: its kind, its source text, and what belongs to the kind."""

    kind: str
    text: str
    parts: tuple[Any, ...] = ()


class Schema(NamedTuple):
    """The fields of a schema, by name, and the source of the models they use."""

    models: str
    fields: dict[str, Type]


# ---- Types -------------------------------------------------------------------------------------


@st.composite
def arrays(draw: st.DrawFn) -> Type:
    """An array type; differentiable or not."""
    dtype = draw(st.sampled_from((*support.DTYPES, None)))
    axis = st.sampled_from((None, None, 0, 1, 2, 3))
    shape: Any = draw(st.one_of(st.just(...), st.lists(axis, max_size=3).map(tuple)))
    text = f"Array[{'...' if shape is ... else repr(shape)}, {dtype!r}]"
    if draw(st.booleans()):
        text = f"Differentiable[{text}]"
    return Type("array", text, (shape, dtype))


PLAIN = st.sampled_from(["int", "float", "str", "bool", "Any", "Literal['a', 'b']", "bytes"])


@st.composite
def schemas(draw: st.DrawFn, count: int = 5) -> Schema:
    """A schema of `count` fields."""
    models: list[str] = []

    def model(types: list[Type]) -> Type:
        name = f"M{len(models)}"
        fields = {f"v{i}": type_ for i, type_ in enumerate(types)}
        required = draw(st.booleans())
        lines = [
            f"    {field}: {type_.text}{'' if required else ' = None'}"
            for field, type_ in fields.items()
        ]
        models.append(f"class {name}(BaseModel):\n" + "\n".join(lines) + "\n")
        return Type("model", name, (fields,))

    def containers(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
        several = st.lists(inner, min_size=1, max_size=3)
        return st.one_of(
            inner.map(lambda t: Type("list", f"list[{t.text}]", (t,))),
            inner.map(lambda t: Type("dict", f"dict[str, {t.text}]", (t,))),
            inner.map(lambda t: Type("many", f"tuple[{t.text}, ...]", (t,))),
            inner.map(lambda t: Type("optional", f"Optional[{t.text}]", (t,))),
            several.map(
                lambda ts: Type("tuple", f"tuple[{', '.join(t.text for t in ts)}]", tuple(ts))
            ),
            several.map(
                lambda ts: Type("union", f"Union[{', '.join(t.text for t in ts)}]", tuple(ts))
            ),
            several.map(model),
        )

    leaf = st.one_of(arrays(), arrays(), PLAIN.map(lambda text: Type("plain", text)))
    types = st.recursive(leaf, containers, max_leaves=4)
    fields = {f"f{i}": draw(types) for i in range(count)}
    return Schema("\n".join(models), fields)


# ---- Values ------------------------------------------------------------------------------------

ODD = st.sampled_from(
    [
        None, 0, 1, -1, 1.5, True, "a", "1", b"x", 1j, 2**40, 1e300, float("nan"), [], {}, (),
        [1, 2], [1.5, None], [[1], [2, 3]], {"a": 1}, np.float32(2.5), np.int64(3), np.array(1.5),
        np.arange(3), np.ones((2, 3)), np.zeros((0, 2), "int8"), np.array(["a"]), np.bool_(True),
        np.arange(6.0)[::2], np.array([1, None], object), {1, 2}, range(2), np.complex64(1j),
    ]
)  # fmt: skip


@st.composite
def values(draw: st.DrawFn, type_: Type) -> Any:
    """A value that mostly fits a type."""
    if draw(st.integers(0, 11)) == 0:
        return draw(ODD)
    return draw(fitting(type_))


def fitting(type_: Type) -> st.SearchStrategy[Any]:
    """Values that have the form of a type."""
    kind, parts = type_.kind, type_.parts
    if kind == "array":
        return array_values(*parts)
    if kind == "plain":
        return PLAIN_VALUES[type_.text]
    if kind in ("list", "many"):
        listed = st.lists(values(parts[0]), max_size=3)
        return st.one_of(listed, listed.map(tuple))
    if kind == "dict":
        keys = st.sampled_from(["a", "b.c", "{", "", "\\", "[0]", "ü"])
        return st.dictionaries(keys, values(parts[0]), max_size=3)
    if kind == "optional":
        return st.one_of(st.none(), values(parts[0]))
    if kind == "tuple":
        fixed = st.tuples(*map(values, parts))
        return st.one_of(fixed, fixed.map(list))
    if kind == "union":
        return st.one_of(*map(values, parts))
    (fields,) = parts
    given = {name: values(inner) for name, inner in fields.items()}
    return st.one_of(st.fixed_dictionaries(given), st.fixed_dictionaries({}, optional=given))


PLAIN_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from([0, 3, -2, "4", 5.0, np.int32(6), True]),
    "float": st.sampled_from([0.5, 1, "2.5", np.float32(1.5), float("inf")]),
    "str": st.sampled_from(["", "a", "1"]),
    "bool": st.sampled_from([True, 0, "no"]),
    "Any": ODD,
    "Literal['a', 'b']": st.sampled_from(["a", "b", "c"]),
    "bytes": st.sampled_from([b"", b"a", "b"]),
}


@st.composite
def array_values(draw: st.DrawFn, shape: Any, dtype: str | None) -> Any:
    """Arrays, scalars, lists and encoded arrays of a shape and dtype near the declared ones."""
    if shape is ...:
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
    lengths = [draw(st.integers(0, 3)) if n is None else n for n in shape]
    if lengths and draw(st.integers(0, 7)) == 0:
        position = draw(st.integers(0, len(lengths) - 1))
        lengths[position] = draw(st.sampled_from([1, 2]))
    given = draw(st.sampled_from((dtype or "float32", dtype or "int16", *support.DTYPES)))
    array = filled(draw, tuple(lengths), given)
    form = draw(st.sampled_from(["array", "array", "list", "item", "layout", "encoded"]))
    if form == "list":
        return array.tolist()
    if form == "item":
        return array[()] if array.ndim == 0 else array
    if form == "layout":
        return draw(st.sampled_from([np.asfortranarray(array), array[::-1] if lengths else array]))
    if form == "encoded" and array.dtype.kind != "c":
        if given == "uint64":  # tesseract-core loses digits there (docs/differences.md)
            array = np.minimum(array, np.uint64(2**53))
        data = {"buffer": array.tolist(), "encoding": "json"}
        return {"shape": list(array.shape), "dtype": given, "data": data}
    return array


def filled(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """An array of a few values, among them the extremes of the dtype."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        choices: list[Any] = [True, False]
    elif kind in "iu":
        limits = np.iinfo(dtype)
        choices = [0, 1, 2, 100, int(limits.min), int(limits.max)]
    else:
        choices = [0.0, 1.0, -2.5, 3.0, 1000.0, float(np.finfo(dtype).max), math.inf, math.nan]
    simple = draw(st.booleans())
    element = st.sampled_from(choices[:2] if simple else choices)
    size = math.prod(shape)
    return np.array(draw(st.lists(element, min_size=size, max_size=size)), dtype).reshape(shape)
