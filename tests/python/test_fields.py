"""Module contract §1.1 and §4: what the module gets for everything but arrays."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import support

DECLARATIONS = """
import enum, datetime
from pathlib import Path
from collections.abc import Sequence
class Color(enum.Enum):
    RED = "red"
class Nested(BaseModel):
    p: Float32 = 1.0
    n: int = 0
class Point(NamedTuple):
    x: float
    y: float
from typing_extensions import TypedDict
class Mapped(TypedDict):
    k: int
"""


def seen(opened: Any, annotation: str, value: Any, expression: str = "inputs.v") -> Any:
    source = DECLARATIONS + support.schema_source(
        f"v: {annotation}", body=f"return {{'y': [{expression}]}}"
    )
    return opened(source).call("apply", {"inputs": {"v": value}})["y"][0]


ACCEPTED = [
    ("int", "3", 3),
    ("int", 3.0, 3),
    ("int", True, 1),
    ("int", np.int64(3), 3),
    ("int", np.array(3), 3),
    ("float", "2.5", 2.5),
    ("float", np.float32(2.5), 2.5),
    ("bool", 1, True),
    ("bool", "no", False),
    ("str", "a", "a"),
    ("Literal['a', 1]", "a", "a"),
    ("datetime.date", "2020-01-02", datetime.date(2020, 1, 2)),
    ("Path", "/a/b", Path("/a/b")),
    ("bytes", "ab", b"ab"),
    ("set[int]", [1, 2, 1], {1, 2}),
    ("tuple[int, str]", [1, "a"], (1, "a")),
    ("tuple[int, ...]", [1, 2], (1, 2)),
    ("dict[int, float]", {"1": 2}, {1: 2.0}),
    ("dict[str, int]", {"a b.c/{}": 1}, {"a b.c/{}": 1}),
    ("Sequence[int]", (1, 2), (1, 2)),
    ("Sequence[int]", [1, 2], [1, 2]),
    ("List[int]", [1], [1]),
    ("Dict[str, List[int]]", {"a": [1]}, {"a": [1]}),
    ("Optional[int]", None, None),
    ("int | None", 3, 3),
    ("Any", [1, "a"], [1, "a"]),
    ("Mapped", {"k": "1"}, {"k": 1}),
    ("Annotated[int, Field(gt=0)]", 1, 1),
    ("Annotated[int, AfterValidator(lambda v: v + 1)]", 1, 2),
    ("Annotated[int, BeforeValidator(lambda v: len(v))]", "abc", 3),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), ACCEPTED)
def test_accepted(opened: Any, annotation: str, value: Any, expected: Any) -> None:
    assert support.same(seen(opened, annotation, value), expected)


REFUSED = [
    ("int", 3.5, "int_from_float"),
    ("int", "a", "int_parsing"),
    ("str", 3, "string_type"),
    ("Literal['a']", "b", "literal_error"),
    ("Annotated[int, Field(gt=0)]", 0, "greater_than"),
    ("Annotated[list[int], Field(min_length=1)]", [], "too_short"),
    ("Nested", 3, "model_type"),
]


@pytest.mark.parametrize(("annotation", "value", "type_"), REFUSED)
def test_refused(opened: Any, annotation: str, value: Any, type_: str) -> None:
    with pytest.raises(ValueError) as caught:
        seen(opened, annotation, value)
    assert support.error_types(caught.value) == [(type_, ("inputs", "v"))]


def test_enum_members(opened: Any) -> None:
    assert seen(opened, "Color", "red", "inputs.v is Color.RED")


def test_named_tuples(opened: Any) -> None:
    assert seen(opened, "Point", [1, 2], "(type(inputs.v).__name__, inputs.v.y)") == ("Point", 2.0)


# ---- Generated classes -------------------------------------------------------------------------

CONTAINERS = [
    ("Nested", {"p": 2}, "inputs.v"),
    ("list[Nested]", [{"p": 2}], "inputs.v[0]"),
    ("dict[str, Nested]", {"k": {"p": 2}}, "inputs.v['k']"),
    ("tuple[int, Nested]", [1, {"p": 2}], "inputs.v[1]"),
    ("Optional[Nested]", {"p": 2}, "inputs.v"),
    ("list[dict[str, Nested]]", [{"k": {"p": 2}}], "inputs.v[0]['k']"),
    ("Annotated[Nested, Field(description='d')]", {"p": 2}, "inputs.v"),
    ("Nested | int", {"p": 2}, "inputs.v"),
]


@pytest.mark.parametrize(("annotation", "value", "place"), CONTAINERS)
def test_nested_models_are_generated(opened: Any, annotation: str, value: Any, place: str) -> None:
    expression = f"(type({place}).__name__, type({place}).__bases__[0] is Nested, {place}.p)"
    name, is_direct, p = seen(opened, annotation, value, expression)
    assert (name, is_direct) == ("Apply_Nested", True)
    assert support.same(p, np.float32(2))


@pytest.mark.parametrize(
    "expression",
    [
        "type(inputs).__name__ == 'Apply_InputSchema'",
        "type(inputs).__bases__ == (InputSchema,)",
        "isinstance(inputs, InputSchema)",
        "inputs.model_fields_set == {'v'}",
        "list(inputs.model_dump()) == ['v']",
        "inputs.model_copy() == inputs",
        "InputSchema(**inputs.model_dump()).v == inputs.v",
    ],
)
def test_the_object_the_module_gets(opened: Any, expression: str) -> None:
    assert seen(opened, "int", 3, expression) is True


@pytest.mark.parametrize(
    ("annotation", "wrap"), [("Nested", lambda v: v), ("list[Nested]", lambda v: [v])]
)
def test_instances_of_the_users_models_are_refused(opened: Any, annotation: str, wrap: Any) -> None:
    source = DECLARATIONS + support.schema_source(
        f"v: Optional[{annotation}] = None", body="return {'y': Nested}"
    )
    module = opened(source)
    users_class = module.call("apply", {"inputs": {}})["y"]
    with pytest.raises(ValueError) as caught:
        module.call("apply", {"inputs": {"v": wrap(users_class())}})
    assert [type_ for type_, _ in support.error_types(caught.value)] == ["model_type"]


def test_an_instance_of_the_input_schema_is_refused(opened: Any) -> None:
    module = opened(support.schema_source("v: int = 0", body="return {'y': InputSchema}"))
    users_class = module.call("apply", {"inputs": {}})["y"]
    with pytest.raises(ValueError) as caught:
        module.call("apply", {"inputs": users_class()})
    assert support.error_types(caught.value) == [("model_type", ("inputs",))]


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ({}, [("missing", ("inputs", "v"))]),
        (
            {"v": 1, "w": 2, "u": 3},
            [("extra_forbidden", ("inputs", "u")), ("extra_forbidden", ("inputs", "w"))],
        ),
        (None, [("model_type", ("inputs",))]),
        ([1], [("model_type", ("inputs",))]),
    ],
)
def test_missing_and_unknown_fields(opened: Any, value: Any, types: Any) -> None:
    module = opened(support.schema_source("v: int"))
    with pytest.raises(ValueError) as caught:
        module.call("apply", {"inputs": value})
    assert sorted(support.error_types(caught.value)) == types
    assert caught.value.title == "ApplyInputSchema"  # type: ignore[attr-defined]


def test_unknown_fields_of_nested_models(opened: Any) -> None:
    with pytest.raises(ValueError) as caught:
        seen(opened, "list[Nested]", [{}, {"z": 1}])
    assert support.error_types(caught.value) == [("extra_forbidden", ("inputs", "v", 1, "z"))]


@pytest.mark.parametrize(("extra", "outcome"), [("allow", {"w": 1}), ("ignore", None)])
def test_the_users_setting_for_extra_fields_stays(opened: Any, extra: str, outcome: Any) -> None:
    source = support.schema_source(
        f"v: int = 0; model_config = ConfigDict(extra={extra!r})",
        body="return {'y': inputs.model_extra}",
    )
    assert opened(source).call("apply", {"inputs": {"w": 1}})["y"] == outcome


def test_strict_models_stay_strict(opened: Any) -> None:
    source = support.schema_source("v: int; model_config = ConfigDict(strict=True)")
    with pytest.raises(ValueError) as caught:
        opened(source).call("apply", {"inputs": {"v": "3"}})
    assert support.error_types(caught.value) == [("int_type", ("inputs", "v"))]


def test_inherited_schemas_methods_and_private_attributes(opened: Any) -> None:
    source = """
        class Base(BaseModel):
            a: int = 1
            _seen: list = PrivateAttr(default_factory=list)
            def double(self): return 2 * self.a
            @property
            def half(self): return self.a / 2
        class InputSchema(Base):
            b: int = 2
            def model_post_init(self, context): self._seen.append(self.b)
        class OutputSchema(BaseModel):
            y: Any
        def apply(inputs):
            return {"y": (inputs.double(), inputs.half, inputs._seen, list(inputs.model_dump()))}
    """
    result = opened(source).call("apply", {"inputs": {"a": 4}})["y"]
    assert result == (8, 2.0, [2], ["a", "b"])


def test_validators_run_once_and_in_order(opened: Any) -> None:
    source = """
        order = []
        def note(text):
            return lambda v: (order.append(text), v)[1]
        class Nested(BaseModel):
            q: Annotated[int, AfterValidator(note("q"))] = 0
            @model_validator(mode="after")
            def whole(self): order.append("nested"); return self
        class InputSchema(BaseModel):
            n: Annotated[Nested, AfterValidator(note("type"))]
            a: Array[(None,), "float64"]
            @field_validator("n", mode="before")
            @classmethod
            def early(cls, v): order.append("before"); return v
            @field_validator("n", "a")
            @classmethod
            def late(cls, v): order.append("after"); return v
            @field_validator("a")
            @classmethod
            def scaled(cls, v): return v * 2
            @model_validator(mode="after")
            def whole(self): order.append("model"); return self
        class OutputSchema(BaseModel):
            y: Any
        def apply(inputs):
            return {"y": (list(order), inputs.a)}
    """
    order, a = opened(source).call("apply", {"inputs": {"n": {"q": 1}, "a": [1]}})["y"]
    assert order == ["before", "q", "nested", "type", "after", "after", "model"]
    assert support.same(a, np.array([2.0]))


def test_validator_errors_carry_the_users_text(opened: Any) -> None:
    source = """
        class InputSchema(BaseModel):
            a: Array[(None,), "float64"]
            b: int = 0
            @field_validator("a")
            @classmethod
            def positive(cls, v):
                if (v <= 0).any(): raise ValueError("must be positive")
                return v
        class OutputSchema(BaseModel):
            y: int = 0
        def apply(inputs): return {}
    """
    with pytest.raises(ValueError, match="must be positive") as caught:
        opened(source).call("apply", {"inputs": {"a": [-1], "b": "x"}})
    assert support.error_types(caught.value) == [
        ("value_error", ("inputs", "a")),
        ("int_parsing", ("inputs", "b")),
    ]


def test_aliases(opened: Any) -> None:
    module = opened(
        support.schema_source(
            "v: Float32 = Field(alias='vv'); w: int = 0", body="return {'y': inputs.v}"
        )
    )
    assert module.call("apply", {"inputs": {"vv": 2}})["y"] == 2
    with pytest.raises(ValueError) as caught:
        module.call("apply", {"inputs": {"v": 2}})
    assert sorted(support.error_types(caught.value)) == [
        ("extra_forbidden", ("inputs", "v")),
        ("missing", ("inputs", "vv")),
    ]


@pytest.mark.parametrize(
    ("base", "value", "expected"),
    [
        ("dict[str, Float32]", {"a": 1}, {"a": np.float32(1)}),
        ("list[Array[(None,), 'float64']]", [[1], [2]], [np.array([1.0]), np.array([2.0])]),
    ],
)
def test_root_models(opened: Any, base: str, value: Any, expected: Any) -> None:
    source = f"""
        class InputSchema(RootModel[{base}]): pass
        class OutputSchema(RootModel[{base}]): pass
        def apply(inputs):
            return inputs.root
    """
    assert support.same(opened(source).call("apply", {"inputs": value}), expected)


def test_generic_models_and_discriminated_unions(opened: Any) -> None:
    source = """
        T = TypeVar("T")
        class Box(BaseModel, Generic[T]):
            item: T
        class Cat(BaseModel):
            kind: Literal["cat"]
            w: Float32
        class Dog(BaseModel):
            kind: Literal["dog"]
            w: Float64
        class InputSchema(BaseModel):
            box: Box[Float32]
            pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]
        class OutputSchema(BaseModel):
            y: Any
        def apply(inputs):
            return {"y": (inputs.box.item, type(inputs.pet).__name__, inputs.pet.w)}
    """
    given = {"box": {"item": 1}, "pet": {"kind": "dog", "w": 2}}
    result = opened(source).call("apply", {"inputs": given})["y"]
    assert support.same(result, (np.float32(1), "Apply_Dog", np.float64(2)))


def test_the_same_model_in_two_branches(opened: Any) -> None:
    source = DECLARATIONS + support.schema_source(
        "a: Nested; b: list[Nested]", body="return {'y': inputs.a.p + inputs.b[0].p}"
    )
    assert opened(source).call("apply", {"inputs": {"a": {"p": 1}, "b": [{"p": 2}]}})["y"] == 3


def test_future_annotations(host: Any, tmp_path: Path) -> None:
    head = "from __future__ import annotations\n" + support.HEAD
    source = """
        class Nested(BaseModel):
            a: Array[(None,), "float64"]
        class InputSchema(BaseModel):
            n: list[Nested]
        class OutputSchema(BaseModel):
            y: Later
        class Later(BaseModel):
            s: Float64
        OutputSchema.model_rebuild()
        def apply(inputs):
            return OutputSchema(y=Later(s=inputs.n[0].a.sum()))
    """
    module = host.open(support.write(tmp_path / "c", source, head=head))
    result = module.call("apply", {"inputs": {"n": [{"a": [1, 2]}]}})
    assert support.same(result, {"y": {"s": np.float64(3)}})


def test_lazy_sequences(opened: Any, tmp_path: Path) -> None:
    for name, n in (("b.json", 2), ("a.json", 1)):
        (tmp_path / name).write_text(f'{{"n": {n}}}')
    source = DECLARATIONS + support.schema_source(
        "v: LazySequence[Nested]",
        body="v = inputs.v; return {'y': (len(v), [i.n for i in v], type(v).__name__)}",
    )
    module = opened("from tesseract_core.runtime.experimental import LazySequence\n" + source)
    for value, numbers in (
        ([{"n": 3}], [3]),
        (f"@{tmp_path}/*.json", [1, 2]),
        (f"@{tmp_path}/nothing*", []),
    ):
        got = module.call("apply", {"inputs": {"v": value}})["y"]
        assert got == (len(numbers), numbers, "LazySequence")
    for bad in ("text", [{"n": "x"}], iter([])):
        with pytest.raises(ValueError):
            module.call("apply", {"inputs": {"v": bad}})
