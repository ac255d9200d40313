"""The published schema is tesseract-core's, but for the texts that explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest
import support

PYDANTIC = tuple(map(int, pydantic.VERSION.split(".")[:2]))

ALL = """
def apply(inputs):
    '''What apply does.

    And more.
      Indented.
    '''
    return {}
def jacobian(inputs, jac_inputs, jac_outputs): "by j"
def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector): ""
def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector): pass
def abstract_eval(abstract_inputs):
    "abstractly"
"""

PLAIN = "def apply(inputs): return {}\n"

ARRAYS = [
    "Array[(None, 3), 'float64']", "Array[(1,), 'float32']", "Array[(0, 2), 'bool']",
    "Array[(), 'int8']", "Array[..., None]", "Array[..., 'uint16']", "Array[(2,), None]",
    "Float16", "UInt64", "Complex64", "Complex128", "Bool", "Int32",
]  # fmt: skip

DEFAULTS = [
    "Float32 = 2.0", "Array[(2,), 'float32'] = [1, 2]", "Optional[Float32] = None",
    "Array[(2,), 'float64'] = np.array([1.0, 2.0])", "Float64 = np.float64(1.5)",
    "Array[(2,), 'int32'] = Field(default_factory=lambda: np.zeros(2, 'int32'))",
    "Array[(2,), 'float64'] = Field(default=(1.0, 2.0), description='two', title='A title')",
    "Float32 = Field(gt=0, description='positive', examples=[1.0])",
    "Float64 = float('nan')",
]  # fmt: skip

FIELDS = [
    "int", "float = Field(1.5, ge=0, le=2)", "str = Field('x', pattern='^[0-9]+$')",
    "bool = True", "bytes = b'x'", "Any = None", "Optional[int] = None", "dict = {'a': None}",
    "dict[str, Any] = {'a': {'b': None}, 'c': [None]}", "list[int] = [1, 2]", "tuple[int, str]",
    "tuple[Float32, ...]", "tuple[Differentiable[Float32], int] = (1, 2)", "set[int] = {1}",
    "Literal['a', 1] = 'a'", "Literal['only']", "Color = Color.RED", "dict[int, Float32]",
    "dict[str, list[Differentiable[Array[(None,), 'float32']]]]", "Sequence[Float64]",
    "int | Float64 = 3", "Differentiable[Float32] | Float64", "list[float] | Array[(None,), None]",
    "Sub", "Optional[Sub] = None", "list[Sub] = []", "dict[str, Sub]", "Sub | Other",
    "dict[str, list[tuple[Sub, int]]]", "Annotated[Sub, Field(description='a sub')]",
    "int = Field(alias='other', description='an alias', default=2)", "Frozen", "Rooted",
    "datetime.date", "pathlib.Path = pathlib.Path('x')", "Annotated[int, Field(gt=1)]",
    "Annotated[Float32, AfterValidator(lambda v: v)]", "Gen[int]", "Gen[Float32]",
    "Annotated[Sub | Tagged, Field()]", "conlist(Float32, min_length=1)", "Doc",
    "Mapping[str, Float32]", "Union[Cat, Dog] = Field(discriminator='kind')", "DC", "TD",
]  # fmt: skip

HELPERS = """
import datetime, enum, pathlib, dataclasses
from typing_extensions import TypedDict
class Color(enum.Enum):
    "Colors."
    RED = "red"
    BLUE = "blue"
class Sub(BaseModel):
    "A sub."
    p: Differentiable[Array[(2, None), "float32"]] = Field(description="of sub")
    n: int = 3
class Other(BaseModel):
    z: Float32
    q: Optional[Sub] = None
class Tagged(BaseModel):
    tag: Literal["t"]
class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", title="Cold")
    x: Float32 = 1.0
class Rooted(RootModel[list[Differentiable[Float32]]]):
    pass
class Cat(BaseModel):
    kind: Literal["cat"]
    x: Float32
class Dog(BaseModel):
    kind: Literal["dog"]
T = TypeVar("T")
class Gen(BaseModel, Generic[T]):
    v: T
class Doc(BaseModel):
    model_config = ConfigDict(json_schema_extra={"note": "x"})
    v: Annotated[int, Field(json_schema_extra={"unit": "m"})] = 1
    @computed_field
    @property
    def twice(self) -> int:
        return 2
@dataclasses.dataclass
class DC:
    a: int
class TD(TypedDict):
    a: int
"""

SHAPES = """
class InputSchema(BaseModel):
    'All that goes in.'
    a: Differentiable[Array[(None, 3), "float64"]]
    sub: Sub
    subs: list[Sub] = []
    d: dict[str, Differentiable[Array[..., None]]] = {}
    deep: Optional[dict[str, list[Other]]] = None
class OutputSchema(BaseModel):
    sub: Sub
    y: Differentiable[Array[(None,), "float64"]] = [1.0]
    ys: list[Differentiable[Float32]] = []
    o: Other | None = None
"""

MODULES = {
    **{
        f"array {field}": f"class InputSchema(BaseModel):\n    a: {field}\n"
        f"class OutputSchema(BaseModel):\n    y: {field}\n    z: list[{field}]\n" + PLAIN
        for field in ARRAYS
    },
    **{
        f"default {field}": f"class InputSchema(BaseModel):\n    a: {field}\n"
        f"class OutputSchema(BaseModel):\n    y: {field}\n" + PLAIN
        for field in DEFAULTS
    },
    **{
        f"field {field}": f"{HELPERS}class InputSchema(BaseModel):\n    some_field: {field}\n"
        f"class OutputSchema(BaseModel):\n    result: {field}\n"
        f"{PLAIN}def abstract_eval(abstract_inputs): pass\n"
        for field in FIELDS
    },
    "all endpoints": HELPERS + SHAPES + ALL,
    "one path": """
class InputSchema(BaseModel):
    a: Differentiable[Float32]
class OutputSchema(BaseModel):
    y: Differentiable[Float32]
"""
    + ALL,
    "roots": """
class InputSchema(RootModel[dict[str, Differentiable[Float32]]]): pass
class OutputSchema(RootModel[list[Differentiable[Float32]]]): pass
"""
    + ALL,
    "inherited": """
class Base(BaseModel):
    x: Differentiable[Float32]
class InputSchema(Base):
    model_config = ConfigDict(title="Mine", extra="allow")
    y: int = 1
class OutputSchema(Base):
    pass
"""
    + ALL,
    "same names": """
class A:
    class Part(BaseModel):
        x: Float32
class B:
    class Part(BaseModel):
        y: int
class InputSchema(BaseModel):
    a: A.Part
    b: B.Part
class OutputSchema(BaseModel):
    pass
"""
    + PLAIN,
}


def comparable(node: Any, source: str, place: str = "") -> Any:
    """Without the descriptions that the author did not write; NaN equal to itself."""
    if isinstance(node, dict):
        return {
            key: comparable(value, source, key)
            for key, value in node.items()
            if not (key == "description" and isinstance(value, str) and not written(value, source))
            and not (key == "examples" and place == "buffer")
        }
    if isinstance(node, list):
        return [comparable(item, source, place) for item in node]
    return "nan" if node != node else node


def written(text: str, source: str) -> bool:
    return all(line.strip() in source for line in text.split("\n"))


def published(host: Any, path: Path, **options: Any) -> dict[str, Any]:
    document: dict[str, Any] = host.from_tesseract_api(path, **options).openapi_schema
    return document


def schemas_of(reference: Any, path: Path, **options: Any) -> tuple[Any, Any]:
    from tesseract_core import Tesseract as Theirs
    from tesseract_host import Tesseract as Ours

    return published(Ours, path, **options), published(Theirs, path, **options)


@pytest.mark.parametrize("name", MODULES)
def test_equals_the_reference(reference: Any, name: str, tmp_path: Path) -> None:
    source = MODULES[name]
    path = support.write(tmp_path / "c", source)
    ours, theirs = schemas_of(reference, path)
    if name == "same names":  # theirs tells its own module apart, not the author's
        text = json.dumps(theirs).replace("tesseract_core__runtime__schema_generation", path.stem)
        theirs = json.loads(text)
    schemas = theirs["components"]["schemas"]
    if PYDANTIC < (2, 12) and any("-Input" in name for name in schemas):
        pytest.skip("this pydantic tells equal models of inputs and outputs apart for theirs only")
    assert list(ours["components"]["schemas"]) == list(schemas)
    assert comparable(ours, source) == comparable(theirs, source)


def test_json_of_it_has_no_null(tmp_path: Path) -> None:
    from tesseract_host import Tesseract

    path = support.write(tmp_path / "c", HELPERS + SHAPES + ALL)
    document = published(Tesseract, path)
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    "options",
    [
        {"gpu_transport": "cuda_ipc"},
        {"runtime_config": {"debug": False}},
        {"runtime_config": {"name": "N", "version": "1.2", "description": "What it is"}},
    ],
)
def test_configuration_shows(reference: Any, options: dict[str, Any], tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", MODULES["one path"])
    ours, theirs = schemas_of(reference, path, **options)
    source = MODULES["one path"] + "What it is"
    assert comparable(ours, source) == comparable(theirs, source)


def test_docstrings_are_in_the_paths(reference: Any, tmp_path: Path) -> None:
    path = support.write(tmp_path / "c", MODULES["one path"])
    ours, theirs = schemas_of(reference, path)
    for name, own in (("apply", "What apply does. And more. Indented."), ("jacobian", "by j")):
        for document in (ours, theirs):
            text = document["paths"][f"/{name}"]["post"]["description"]
            assert " ".join(text.split()).endswith(f" {own}")


def test_a_type_without_json_schema_fails_when_asked(tmp_path: Path) -> None:
    from pydantic import PydanticInvalidForJsonSchema
    from tesseract_host import Tesseract

    source = support.schema_source("x: Callable = None")
    opened = Tesseract.from_tesseract_api(support.write(tmp_path / "c", source))
    assert opened.apply({}) == {"y": None}
    with pytest.raises(PydanticInvalidForJsonSchema):
        _ = opened.openapi_schema
