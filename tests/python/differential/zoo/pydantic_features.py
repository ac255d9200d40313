"""Aliases, generics, discriminated unions, forward references, other containers (contract 4)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Dict,
    Generic,
    List,
    Literal,
    NamedTuple,
    Optional,
    Tuple,
    TypeVar,
)

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from tesseract_core.runtime import Array, Float64
from typing_extensions import TypedDict

from looking import look

T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T
    label: str = ""


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Float64


class Dog(BaseModel):
    kind: Literal["dog"]
    weight: Array[(None,), Float64]


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    some_value: Float64 = 1.0
    other_value: int = 2


class Base(BaseModel):
    inherited: Float64 = 1.0


class Later(BaseModel):
    v: Float64


class Child(Base):
    own: "Later | None" = None


@dataclasses.dataclass
class Data:
    a: int
    b: float = 2.0


class Typed(TypedDict, total=False):
    p: int
    q: float


class Named(NamedTuple):
    first: int
    second: float = 1.5


class InputSchema(Base):
    box: Box[Float64] = None
    boxes: List[Box[Array[(None,), Float64]]] = []
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] = None
    camel: Camel = None
    child: Optional[Child] = None
    data: Data = None
    typed: Typed = None
    named: Named = None
    aliased: Float64 = Field(default=0.0, alias="theAlias")
    choices: Float64 = Field(default=0.0, validation_alias=AliasChoices("one", "two"))
    sequence: Sequence[Float64] = ()
    mapping: Mapping[str, Float64] = {}
    old_dict: Dict[str, List[int]] = {}
    old_tuple: Tuple[int, Float64] = None
    many: tuple[Float64, ...] = ()


class OutputSchema(BaseModel):
    seen: Any
    pet: Cat | Dog | None = None
    box: Box[Float64] | None = None


def apply(inputs):
    return {"seen": look(inputs), "pet": inputs.pet and inputs.pet.model_dump()}


CALLS = [
    ("apply", {}),
    ("apply", {"inherited": 3, "child": {"own": {"v": 1}, "inherited": 2}}),
    ("apply", {"child": {"own": {"w": 1}}}),
    ("apply", {"box": {"content": 1}, "boxes": [{"content": [1, 2], "label": "x"}]}),
    ("apply", {"box": {"content": "x"}, "boxes": [{"content": 1}]}),
    ("apply", {"pet": {"kind": "cat", "lives": 9}}),
    ("apply", {"pet": {"kind": "dog", "weight": [9]}}),
    ("apply", {"pet": {"kind": "dog", "lives": 9}}),
    ("apply", {"pet": {"kind": "cow"}}),
    ("apply", {"pet": {}}),
    ("apply", {"camel": {"someValue": 3, "otherValue": 4}}),
    ("apply", {"camel": {"some_value": 3}}),
    ("apply", {"camel": {"someValue": 3, "some_value": 4}}),
    ("apply", {"theAlias": 3}),
    ("apply", {"aliased": 3}),
    ("apply", {"one": 3}),
    ("apply", {"two": 3}),
    ("apply", {"choices": 3}),
    ("apply", {"data": {"a": "1"}}),
    ("apply", {"data": {"a": "x", "c": 1}}),
    ("apply", {"typed": {"p": "1"}}),
    ("apply", {"typed": {"r": 1}}),
    ("apply", {"named": [1]}),
    ("apply", {"named": {"first": 1, "second": "2"}}),
    ("apply", {"sequence": [1, 2]}),
    ("apply", {"sequence": (1, 2)}),
    ("apply", {"sequence": 3, "mapping": 3}),
    ("apply", {"mapping": {"a": 1, "b": [1]}}),
    ("apply", {"mapping": {"a": 1}}),
    ("apply", {"old_dict": {"a": ["1"]}, "old_tuple": [1, 2]}),
    ("apply", {"old_tuple": [1]}),
    ("apply", {"many": [1, 2, 3]}),
    ("apply", {"many": {"a": 1}}),
]
