"""Makes instances of its output classes in all ways, and compares them with what pydantic makes of
the same values.
"""

import copy
import pickle
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from tesseract_core.runtime import Array, Float64

Vector = Array[(3,), Float64]


class Plain(BaseModel):
    a: Vector
    b: Float64
    n: int
    f: float
    t: str
    flag: bool
    maybe: Vector | None = None


class Checked(BaseModel):
    a: Vector

    @field_validator("a")
    @classmethod
    def a_is_doubled(cls, a: Any) -> Any:
        return 2 * a


class Initialised(BaseModel):
    a: Vector

    def __init__(self, **values: Any) -> None:
        super().__init__(a=values["a"] + 1)


class Finished(BaseModel):
    a: Vector

    def model_post_init(self, _context: Any) -> None:
        self.a = self.a + 3


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    a: Vector = Field(alias="c")


class InputSchema(BaseModel):
    how: str = "all"


class OutputSchema(BaseModel):
    plain: Plain
    problems: list[str]


class Sub(Plain):
    extra: int = 7


def given() -> dict[str, Any]:
    return {
        "a": np.arange(3.0),
        "b": np.float64(2.0),
        "n": 3,
        "f": 4.0,
        "t": "five",
        "flag": True,
        "maybe": np.ones(3),
    }


def state(value: Any) -> Any:
    fields = {name: (type(v).__name__, np.asarray(v).tolist()) for name, v in vars(value).items()}
    arrays = [v for v in vars(value).values() if isinstance(v, np.ndarray)]
    return (
        type(value),
        list(fields.items()),
        sorted(value.model_fields_set),
        value.__pydantic_extra__,
        value.__pydantic_private__,
        [array.flags.writeable for array in arrays],
        repr(value),
    )


def error_of(function: Any) -> Any:
    try:
        function()
    except ValidationError as error:
        return [(detail["type"], detail["loc"]) for detail in error.errors()]
    except TypeError as error:
        return type(error).__name__
    return "no error"


def compare(problems: list[str], name: str, made: Any, expected: Any) -> None:
    if made != expected:
        problems.append(f"{name}: {made} is not {expected}")


def by_pydantic(cls: type[BaseModel], values: dict[str, Any]) -> Any:
    return cls.__pydantic_validator__.validate_python(dict(values))


def check_values(problems: list[str]) -> None:
    made, expected = Plain(**given()), by_pydantic(Plain, given())
    compare(problems, "instance", state(made), state(expected))
    backwards = dict(reversed(given().items()))
    compare(problems, "order", state(Plain(**backwards)), state(expected))
    compare(problems, "copy", state(copy.copy(made)), state(copy.copy(expected)))
    compare(problems, "deepcopy", state(copy.deepcopy(made)), state(copy.deepcopy(expected)))
    compare(problems, "pickle", len(pickle.dumps(made)), len(pickle.dumps(expected)))
    compare(problems, "json", made.model_dump_json(), expected.model_dump_json())
    made.n, expected.n = 5, 5
    compare(problems, "setattr", state(made), state(expected))
    for name, value in (
        ("maybe", None),
        ("n", 3.0),
        ("n", True),
        ("f", 2),
        ("b", 2.5),
        ("b", np.array(2.5)),
        ("a", [1, 2, 3]),
        ("a", np.arange(3)),
        ("a", np.arange(6.0)[::2]),
        ("a", np.arange(3.0, dtype=">f8")),
        ("t", "ü"),
        ("t", "\udc80"),
        ("flag", 1),
    ):
        values = {**given(), name: value}
        expected = by_pydantic(Plain, values)
        compare(problems, f"{name}={value!r}", state(Plain(**values)), state(expected))
    without = {name: value for name, value in given().items() if name != "maybe"}
    compare(problems, "default", state(Plain(**without)), state(by_pydantic(Plain, without)))
    compare(problems, "subclass", state(Sub(**given())), state(by_pydantic(Sub, given())))
    more = {**given(), "more": 1}
    compare(problems, "more", state(Plain(**more)), state(by_pydantic(Plain, more)))


def check_errors(problems: list[str]) -> None:
    for name, value in (("a", np.zeros(4)), ("a", "text"), ("n", "x"), ("t", 5)):
        values = {**given(), name: value}
        expected = error_of(lambda values=values: by_pydantic(Plain, values))
        made = error_of(lambda values=values: Plain(**values))
        compare(problems, f"error of {name}={value!r}", made, expected)
        if made == "no error":
            problems.append(f"{name}={value!r} is no error")
    compare(problems, "positional", error_of(lambda: Plain(given())), "TypeError")
    compare(problems, "nothing", len(error_of(lambda: Plain())), 6)


def check_others(problems: list[str]) -> None:
    a = np.ones(3)
    compare(problems, "validator", Checked(a=a).a.tolist(), [2.0] * 3)
    compare(problems, "init", Initialised(a=a).a.tolist(), [2.0] * 3)
    compare(problems, "post init", Finished(a=a).a.tolist(), [4.0] * 3)
    compare(problems, "alias", Aliased(c=a).a.tolist(), Aliased(a=a).a.tolist())


def check_changes(problems: list[str]) -> None:
    """A class that is changed later is made as it is then."""
    before = Plain.__init__

    def init(self: Any, **values: Any) -> None:
        before(self, **{**values, "n": 99})

    Plain.__init__ = init  # type: ignore[method-assign]
    compare(problems, "patched", Plain(**given()).n, 99)
    Plain.__init__ = before  # type: ignore[method-assign]
    compare(problems, "restored", Plain(**given()).n, 3)


def apply(inputs: InputSchema) -> OutputSchema:
    problems: list[str] = []
    check_values(problems)
    check_errors(problems)
    check_others(problems)
    if inputs.how == "change":
        check_changes(problems)
    return OutputSchema(plain=Plain(**given()), problems=problems)
