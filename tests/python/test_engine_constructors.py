"""Calls of a module's plain output classes make what pydantic makes."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest
import support
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from tesseract_host import _engine, loader
from tesseract_host.loader import compiler, generated
from tesseract_host.runtime.schema_types import Array, Float32
from test_engine_models import alike

pytestmark = pytest.mark.skipif(
    not hasattr(_engine.native, "quicken"), reason=_engine.missing or "no constructors"
)

V = np.arange(3, dtype="f4")


def quicken(schema: Any) -> None:
    """As the loader does for a module's OutputSchema."""
    description = compiler.result(generated.subclass(schema, "Apply_")).description
    if description is not None:
        _engine.native.quicken(_engine.native.compile(description))


def pair(**config: Any) -> tuple[type[BaseModel], type[BaseModel]]:
    """Two classes of one source, only the first with a constructor of the engine's."""

    def make() -> type[BaseModel]:
        class Inner(BaseModel):
            p: Array[(None,), Float32]

        class Model(BaseModel):
            model_config = ConfigDict(**config)
            y: Array[(None,), Float32]
            z: float = 1.0
            xs: list[int] = []
            i: Inner | None = None
            t: str = "t"

        return Model

    first, second = make(), make()
    quicken(first)
    return first, second


def outcome(cls: Any, positional: Any, keywords: Any) -> Any:
    try:
        return cls(*positional, **keywords)
    except ValidationError as error:
        return error.title, support.error_types(error)
    except TypeError as error:
        return str(error).replace(".<locals>", "")


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {"y": V}),
    ((), {"y": [1, 2], "z": 2, "xs": [1], "i": None, "t": "x"}),
    ((), {"t": "x", "y": V}),
    ((), {"y": V, "i": {"p": V}}),
    ((), {}),
    ((), {"z": 1.0}),
    ((), {"y": "x"}),
    ((), {"y": V, "t": "x"}),
    ((), {"y": V, "unknown": 1}),
    ((), {"y": V, "z": "2"}),
    ((), {"y": V, "é": 1}),
    ((V,), {}),
    (({"y": V},), {}),
]


@pytest.mark.parametrize("config", [{}, {"extra": "forbid"}, {"extra": "allow"}, {"frozen": True}])
def test_made_as_by_pydantic(config: dict[str, Any]) -> None:
    first, second = pair(**config)
    for positional, keywords in CALLS:
        mine, theirs = outcome(first, positional, keywords), outcome(second, positional, keywords)
        if isinstance(theirs, BaseModel):
            assert type(mine) is first
            assert repr(vars(mine)) == repr(vars(theirs))
            assert mine.model_fields_set == theirs.model_fields_set
            assert mine.model_extra == theirs.model_extra
        else:
            assert mine == theirs, keywords


def test_an_instance_of_a_nested_class_passes() -> None:
    first, _ = pair()
    inner = first.model_fields["i"].annotation.__args__[0]
    given = inner(p=V)
    assert first(y=V, i=given).i is given


def test_arrays_are_views() -> None:
    first, _ = pair()
    mine = V.copy()
    made = first(y=mine)
    assert np.shares_memory(made.y, mine) and not made.y.flags.writeable


def test_subclasses_and_copies() -> None:
    first, second = pair()

    class Sub(first):  # type: ignore[valid-type, misc]
        extra_field: int = 3

        @field_validator("z")
        @classmethod
        def _same(cls, value: float) -> float:
            return value + 1

    made = Sub(y=V, z=1.0)
    assert type(made) is Sub and made.z == 2.0 and made.extra_field == 3
    assert alike(copy.deepcopy(first(y=V)), copy.deepcopy(first.model_validate({"y": V})))
    assert first.model_validate({"y": V}).z == second.model_validate({"y": V}).z
    assert first.model_construct(y=3).y == 3


def test_a_class_that_is_changed() -> None:
    first, _ = pair()
    assert first(y=V).z == 1.0
    seen = []

    def init(self: Any, **values: Any) -> None:
        seen.append(values)
        BaseModel.__init__(self, **values)

    first.__init__ = init  # type: ignore[method-assign]
    assert first(y=V).z == 1.0 and len(seen) == 1
    del first.__init__
    first(y=V)
    assert len(seen) == 1
    first.model_fields["z"].default = 5.0
    first.model_rebuild(force=True)
    assert first(y=V).z == 5.0


def test_a_base_that_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = pair()
    first(y=V)
    before, seen = BaseModel.__init__, []

    def init(self: Any, /, **values: Any) -> None:
        seen.append(values)
        before(self, **values)

    monkeypatch.setattr(BaseModel, "__init__", init)
    first(y=V)
    assert len(seen) == 1


def test_classes_with_functions_are_left_alone() -> None:
    class Validated(BaseModel):
        y: int

        @field_validator("y")
        @classmethod
        def _same(cls, value: int) -> int:
            return value

    class Own(BaseModel):
        y: int

        def __init__(self, **values: Any) -> None:
            super().__init__(**values)

    for cls in (Validated, Own):
        quicken(cls)
        assert cls(y=1).y == 1


def test_classes_die_with_their_component(tmp_path: Any) -> None:
    source = support.schema_source(
        "x: Array[(None,), Float32]",
        "y: Array[(None,), Float32]",
        "return OutputSchema(y=inputs.x)",
    )
    opened = loader.open(str(support.write(tmp_path / "c", source)))
    assert support.same(opened.call("apply", {"inputs": {"x": V}})["y"], V)
    gone = weakref.ref(opened.module.OutputSchema)
    opened.close()
    del opened
    for _ in range(3):
        gc.collect()
    assert gone() is None
