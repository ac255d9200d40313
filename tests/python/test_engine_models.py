"""Models that the engine builds can't be told from pydantic's, and it builds no others."""

from __future__ import annotations

import copy
import enum
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import support
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    ValidationError,
    WrapValidator,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)
from tesseract_host import _engine
from tesseract_host.loader import compiler, generated
from tesseract_host.runtime.schema_types import Array, Float32

pytestmark = pytest.mark.skipif(_engine.native is None, reason=_engine.missing)

Vector = Array[(None,), Float32]
V = np.arange(3, dtype="f4")


class Color(enum.Enum):
    RED = 1


class Inner(BaseModel):
    x: Vector
    n: int = 3


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Ignoring(BaseModel):
    model_config = ConfigDict(extra="ignore")
    x: int


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: int
    y: str = "y"


class After(BaseModel):
    x: Annotated[int, AfterValidator(lambda v: v + 1)]

    @field_validator("x")
    @classmethod
    def _doubled(cls, value: int) -> int:
        return 2 * value

    @model_validator(mode="after")
    def _noted(self) -> Any:
        self.x += 100
        return self


def made(name: str, field: Any, default: Any = ..., **config: Any) -> type[BaseModel]:
    """A model of one field `f`."""
    members: dict[str, Any] = {"__annotations__": {"f": field}, "__module__": __name__}
    if default is not ...:
        members["f"] = default
    if config:
        members["model_config"] = ConfigDict(**config)
    return type(name, (BaseModel,), members)


def build(model: Any, value: Any) -> tuple[Any, Any, compiler.Compiled]:
    """By the engine (a tuple or None), by pydantic (a model or an error)."""
    cls = generated.subclass(model, "Apply_")
    plan = compiler.inputs(cls)
    compiled = _engine.native.compile(plan.description)
    first = compiled.accept(copy.deepcopy(value))
    try:
        second: Any = cls.model_validate(copy.deepcopy(value))
    except ValidationError as error:
        second = error
    return first, second, plan


def alike(first: Any, second: Any) -> bool:
    if isinstance(first, BaseModel):
        return (
            type(first) is type(second)
            and list(first.__dict__) == list(second.__dict__)
            and all(alike(a, second.__dict__[k]) for k, a in first.__dict__.items())
            and first.__pydantic_fields_set__ == second.__pydantic_fields_set__
            and first.__pydantic_extra__ == second.__pydantic_extra__
            and first.__pydantic_private__ == second.__pydantic_private__
        )
    if isinstance(first, np.ndarray):
        return support.same(first, second) and first.flags.writeable == second.flags.writeable
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(alike(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple) and type(first) is type(second):
        return len(first) == len(second) and all(map(alike, first, second))
    return support.same(first, second)


# Model, values that the engine takes, values that it leaves to pydantic.
KINDS: list[tuple[type[BaseModel], list[Any], list[Any]]] = [
    (made("A", Vector), [{"f": V}, {"f": [1, 2]}, {"f": V[::-1]}], [{"f": "x"}, {}, {"f": None}]),
    (made("A0", Float32), [{"f": 1.0}, {"f": np.float32(1)}, {"f": np.array(2.0)}], [{"f": V}]),
    (made("I", int), [{"f": 1}, {"f": -(2**62)}], [{"f": True}, {"f": "1"}, {"f": 2**64}]),
    (made("F", float), [{"f": 1.5}, {"f": 2}, {"f": float("nan")}], [{"f": "1"}, {"f": 2**60 + 1}]),
    (made("B", bool), [{"f": True}], [{"f": 1}, {"f": np.bool_(True)}]),
    (made("S", str), [{"f": "é"}, {"f": ""}], [{"f": "\ud800"}, {"f": b"x"}, {"f": 1}]),
    (made("N", None), [{"f": None}], [{"f": 0}]),
    (made("Any_", Any), [{"f": object}, {"f": V}, {"f": {"a": [1]}}], [{}]),
    (made("O", Vector | None, None), [{}, {"f": None}, {"f": V}], [{"f": "x"}]),
    (made("L", list[Vector]), [{"f": [V, [1.0]]}, {"f": []}, {"f": (V,)}], [{"f": {1}}, {"f": V}]),
    (made("LL", list[list[int]]), [{"f": [[1], []]}], [{"f": [1]}]),
    (
        made("T", tuple[Vector, int]),
        [{"f": (V, 1)}, {"f": [V, 1]}],
        [{"f": (V,)}, {"f": (V, 1, 2)}],
    ),
    (made("TV", tuple[int, ...]), [{"f": (1, 2)}, {"f": ()}, {"f": [3]}], [{"f": ("a",)}]),
    (
        made("D", dict[str, Vector]),
        [{"f": {"a": V, "b": [1]}}, {"f": {}}],
        [{"f": {1: V}}, {"f": []}],
    ),
    (
        made("M", Inner),
        [{"f": {"x": V}}, {"f": {"x": V, "n": 1}}],
        [{"f": {"y": V}}, {"f": Inner(x=V)}],
    ),
    (made("DM", dict[str, Inner]), [{"f": {"k": {"x": V}}}], [{"f": {"k": {}}}]),
    (made("Lo", Loose), [{"f": {"x": 1}}], [{"f": {"x": 1, "y": 2}}]),
    (made("Ig", Ignoring), [{"f": {"x": 1}}, {"f": {"x": 1, "y": 2}}], [{"f": {"y": 2}}]),
    (made("DA", Vector, [1, 2]), [{}, {"f": V}], []),
    (made("DD", Vector, V), [{}], []),
    (made("DF", list[int], Field(default_factory=lambda: [1])), [{}, {"f": [2]}], []),
    (made("DL", dict[str, int], {"a": 1}), [{}], []),
    (made("Al", int, Field(alias="g")), [{"g": 1}], [{"f": 1}, {}]),
    (made("Li", Literal["a", 1]), [{"f": "a"}, {"f": 1}], [{"f": "b"}]),
    (made("En", Color), [{"f": Color.RED}, {"f": 1}], [{"f": 2}]),
    (made("Co", int, Field(gt=0)), [{"f": 1}, {"f": "3"}], [{"f": 0}]),
    (made("Un", Vector | str), [{"f": "a"}, {"f": V}], [{"f": object()}]),
    (made("Se", set[int]), [{"f": {1}}, {"f": [1, 1]}], [{"f": ["a"]}]),
    (made("Pa", Path), [{"f": "a/b"}], [{"f": 1}]),
    (made("Gt", Annotated[Float32, Field(gt=0)]), [{"f": 1.0}], [{"f": -1.0}]),
    (made("Be", Annotated[int, BeforeValidator(int)]), [{"f": "1"}], [{"f": "x"}]),
    (made("Af", After), [{"f": {"x": 1}}], [{"f": {"x": "a"}}]),
    (Frozen, [{"x": 1}, {"x": 1, "y": "z"}], [{"x": 1, "z": 1}, 3, [("x", 1)]]),
    (After, [{"x": 1}], [{"x": None}]),
    (Loose, [{"x": 1}], [{"x": 1, "y": 1}]),
]


@pytest.mark.parametrize(
    ("model", "taken", "left"), KINDS, ids=lambda v: getattr(v, "__name__", "")
)
def test_built_as_by_pydantic(model: Any, taken: list[Any], left: list[Any]) -> None:
    for value in taken:
        first, second, plan = build(model, value)
        assert plan.description[0] != "foreign", plan.reasons
        assert first is not None, value
        assert alike(first[0], second), (value, first[0], second)
    for value in left:
        assert build(model, value)[0] is None, value


USES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "model_copy": lambda m: m.model_copy(update={"n": 5}),
    "deep": lambda m: m.model_copy(deep=True),
    "dump": lambda m: m.model_dump(),
    "unset": lambda m: m.model_dump(exclude_unset=True),
    "defaults": lambda m: m.model_dump(exclude_defaults=True),
    "JSON": lambda m: m.model_dump_json(context={"array_encoding": "base64"}),
    "repr": repr,
    "str": str,
    "iteration": lambda m: [name for name, _ in m],
    "set": lambda m: (setattr(m, "n", 9), m.n, m.model_fields_set)[1:],
    "set unknown": lambda m: setattr(m, "unknown", 9),
    "delete": lambda m: (delattr(m, "n"), vars(m).keys()),
    "hash": hash,
    "equal": lambda m: m == m,
    "fields set": lambda m: m.model_fields_set,
    "extra": lambda m: m.model_extra,
    "private": lambda m: m.__pydantic_private__,
    "again": lambda m: type(m).model_validate(m) is m,
    "from dump": lambda m: type(m).model_validate(m.model_dump()),
    "vars": vars,
    "pickle": lambda m: pickle.loads(pickle.dumps(m.__getstate__()))["__pydantic_fields_set__"],
    "weak reference": lambda m: __import__("weakref").ref(m)() is m,
    "size": sys.getsizeof,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("model", [Inner, Loose, Ignoring, Frozen], ids=lambda m: m.__name__)
def test_used_as_pydantics(model: Any, use: str) -> None:
    value = {"x": V} if model is Inner else {"x": 1}
    first, second, _ = build(model, value)
    outcomes = []
    for instance in (first[0], second):
        try:
            outcomes.append(USES[use](instance))
        except Exception as error:
            outcomes.append((type(error), re.sub("0x[0-9a-f]+", "", str(error))))
    assert alike(*outcomes), outcomes


# ---- Legality ----------------------------------------------------------------------------------


class Before(BaseModel):
    f: int

    @model_validator(mode="before")
    @classmethod
    def _any(cls, value: Any) -> Any:
        return value


class Wrapped(BaseModel):
    f: int

    @model_validator(mode="wrap")
    @classmethod
    def _any(cls, value: Any, handler: Any) -> Any:
        return handler(value)


class Private(BaseModel):
    f: int
    _p: int = PrivateAttr(3)


class PostInit(BaseModel):
    f: int

    def model_post_init(self, _: Any) -> None:
        pass


class Init(BaseModel):
    f: int

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


class New(BaseModel):
    f: int

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return super().__new__(cls)


class WithInfo(BaseModel):
    e: int = 1
    f: int

    @field_validator("f")
    @classmethod
    def _any(cls, value: Any, info: Any) -> Any:
        return value + info.data["e"]


class WithoutInfo(BaseModel):
    f: int

    @field_validator("f")
    @classmethod
    def _any(cls, value: Any) -> Any:
        return value + 1


class Outer(BaseModel):
    f: WithInfo


class DirectOuter(BaseModel):
    f: Inner
    g: Inner


class Root(RootModel[list[int]]):
    pass


class Computed(BaseModel):
    f: int

    @computed_field
    def g(self) -> int:
        return 1


class Serialized(BaseModel):
    f: int

    @field_serializer("f")
    def _text(self, value: int) -> str:
        return str(value)


class Dumping(BaseModel):
    f: int

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"f": 7}


DIRECT, PART, ALL = "direct", "a field", "the whole"

INPUTS: list[tuple[type[BaseModel], str]] = [
    (made("L1", int), DIRECT),
    (made("L2", Vector), DIRECT),
    (DirectOuter, DIRECT),
    (WithoutInfo, DIRECT),
    (After, DIRECT),
    (Computed, DIRECT),
    (Serialized, DIRECT),
    (made("L3", int, Field(alias="g")), DIRECT),
    (made("L4", list[int], Field(default_factory=list)), DIRECT),
    (made("L5", int, extra="allow"), DIRECT),
    (made("L6", int, frozen=True), DIRECT),
    (made("L7", int, Field(gt=3)), PART),
    (made("L8", list[int], Field(min_length=1)), PART),
    (made("L9", dict[int, Vector]), PART),
    (made("L10", int | Vector), PART),
    (made("L11", Annotated[int, BeforeValidator(int)]), PART),
    (made("L12", Annotated[int, WrapValidator(lambda v, h: h(v))]), PART),
    (Outer, PART),
    (made("L13", Private), PART),
    (made("L14", Root), PART),
    (Before, ALL),
    (Wrapped, ALL),
    (Private, ALL),
    (PostInit, ALL),
    (Init, ALL),
    (New, ALL),
    (WithInfo, ALL),
    (Root, ALL),
    (made("L15", int, 1, validate_default=True), ALL),
    (made("L16", int, Field(1, validate_default=True)), ALL),
    (made("L17", int, Field(default_factory=lambda data: 1)), ALL),
    (made("L18", int, strict=True), ALL),
    (made("L19", str, str_strip_whitespace=True), ALL),
    (made("L20", float, allow_inf_nan=False), ALL),
    (made("L21", int, Field(alias="g"), populate_by_name=True), ALL),
    (made("L22", int, Field(validation_alias="g")), DIRECT),
]


@pytest.mark.parametrize(("model", "expected"), INPUTS, ids=lambda v: getattr(v, "__name__", ""))
def test_what_the_engine_may_build(model: Any, expected: str) -> None:
    plan = compiler.inputs(generated.subclass(model, "Apply_"))
    if expected == ALL:
        assert plan.description[0] == "foreign" and len(plan.reasons) == 1
    else:
        assert plan.description[0] in ("model", "after")
        assert bool(plan.reasons) == (expected == PART)


RESULTS: list[tuple[type[BaseModel], bool]] = [
    (made("R1", int), True),
    (made("R2", Vector), True),
    (DirectOuter, True),
    (made("R3", Literal["a"]), True),
    (made("R4", int, Field(gt=3)), True),
    (made("R5", Color), True),
    (made("R6", int, extra="allow"), True),
    (made("R7", int | Vector), False),
    (made("R8", Path), False),
    (made("R9", int, Field(alias="g")), False),
    (made("R10", int, Field(exclude=True)), False),
    (WithoutInfo, False),
    (After, False),
    (Computed, False),
    (Serialized, False),
    (Dumping, False),
    (Before, False),
    (Private, False),
    (Root, False),
    (made("R11", Before), False),
]


@pytest.mark.parametrize(("model", "expected"), RESULTS, ids=lambda v: getattr(v, "__name__", ""))
def test_which_results_the_engine_may_check(model: Any, expected: bool) -> None:
    plan = compiler.result(generated.subclass(model, "Apply_"))
    assert (plan.description is not None) == expected
    assert bool(plan.reasons) != expected


def test_a_sample_that_differs_is_noticed() -> None:
    cls = generated.subclass(Inner, "Apply_")
    description = compiler.inputs(cls).description
    assert description is not None
    assert not compiler.differs(cls, description, _engine.native.compile(description))
    fields = (description[4][1], description[4][0])  # another order
    wrong = (*description[:4], fields)
    assert compiler.differs(cls, wrong, _engine.native.compile(wrong))


BAD_DESCRIPTIONS: list[Any] = [
    None,
    (),
    ("unknown",),
    (1,),
    ("array", object()),
    ("optional",),
    ("list", ("nothing",)),
    ("tuple", [], False),
    ("tuple", (), True),
    ("after", ("any",), 3),
    ("foreign", 3),
    ("model", int, int, 0, ()),
    ("model", Inner, 3, 0, ()),
    ("model", Inner, Inner, 7, ()),
    ("model", Inner, Inner, 0, 3),
    ("model", Inner, Inner, 0, ((1, "x", ("any",), 0, None),)),
    ("model", Inner, Inner, 0, (("x", "x", ("any",), 9, None),)),
    ("model", Inner, Inner, 0, (("x", "x", ("any",), 3, None),)),
]


@pytest.mark.parametrize("description", BAD_DESCRIPTIONS)
def test_bad_descriptions(description: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        _engine.native.compile(description)


def test_endless_descriptions() -> None:
    description: Any = ("any",)
    for _ in range(100_000):
        description = ("optional", description)
    with pytest.raises(RecursionError):
        _engine.native.compile(description)
