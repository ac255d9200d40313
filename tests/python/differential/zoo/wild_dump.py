"""Leaf types of `model_dump()`, the module's own endpoints, tree transforms."""

from typing import Any, Literal, Optional

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator
from tesseract_core.runtime import Array, Differentiable, Float32, Float64, Int32, ShapeDType
from tesseract_core.runtime.tree_transforms import (
    filter_func,
    flatten_with_paths,
    get_at_path,
    set_at_path,
)

from looking import look


class Geometry(BaseModel):
    points: Differentiable[Array[(None, 2), Float32]] = Field(description="Where.")
    closed: bool = True


class Base(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, populate_by_name=True)
    scale: Differentiable[Float64] = Field(default=1.0, description="How large.")
    steps: int = Field(default=2, gt=0, le=10)
    solver: Literal["fast", "exact"] = "fast"
    weights: Optional[Array[(None,), Float32]] = None


class InputSchema(Base):
    geometry: Geometry
    material: dict[str, Float64] = {}
    count: Int32 = 4

    @model_validator(mode="after")
    def check(self):
        if self.solver == "exact" and self.weights is None:
            raise ValueError("exact needs weights")
        return self


class OutputSchema(BaseModel):
    area: Differentiable[Float64]
    grad: Differentiable[Array[(None, 2), Float32]]
    seen: Any = None


def evaluate(tree):
    points = np.asarray(tree["geometry"]["points"])
    return {"area": np.sum(points**2) * tree["scale"], "grad": 2 * points * tree["scale"]}


def apply(inputs: InputSchema) -> OutputSchema:
    tree = inputs.model_dump()
    again = apply_once(InputSchema(**tree))
    copied = apply_once(inputs.model_copy(update={"scale": 3.0}))
    flat = flatten_with_paths(tree, ["geometry.points", "scale"])
    changed = set_at_path(tree, {"scale": 5.0, "geometry.points": flat["geometry.points"] * 0})
    function = filter_func(evaluate, tree, output_paths=["area"])
    seen = (
        look(tree),
        look(inputs.model_dump(exclude={"geometry"}, exclude_unset=True)),
        look(again),
        look(copied),
        look(flat),
        look(evaluate(changed)),
        look(function({"scale": 2.0})),
        look(get_at_path(inputs, "geometry.points")),
        look(list(inputs)),
        inputs.model_fields_set == set(inputs.model_dump(exclude_unset=True)),
    )
    return OutputSchema(**evaluate(tree), seen=seen)


def apply_once(inputs):
    return evaluate(inputs.model_dump())


def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    out = apply(inputs)
    gradients = {
        "geometry.points": 2 * inputs.geometry.points * inputs.scale * cotangent_vector["area"],
        "scale": out.area / inputs.scale * cotangent_vector["area"],
    }
    return {path: gradients[path] for path in vjp_inputs}


def abstract_eval(abstract_inputs):
    tree = abstract_inputs.model_dump()
    assert isinstance(abstract_inputs.geometry.points, ShapeDType)
    shape = tree["geometry"]["points"]["shape"]
    return {
        "area": ShapeDType(shape=(), dtype="float64"),
        "grad": {"shape": list(shape), "dtype": "float32"},
        "seen": look(tree),
    }


POINTS = np.arange(6, dtype="float32").reshape(3, 2)
GEOMETRY = {"points": POINTS}
SHAPE = {"points": {"shape": (3, 2), "dtype": "float32"}}
CALLS = [
    ("apply", {"geometry": GEOMETRY}),
    ("apply", {"geometry": GEOMETRY, "scale": 2, "steps": 3, "weights": [1], "solver": "exact"}),
    ("apply", {"geometry": GEOMETRY, "solver": "exact"}),
    ("apply", {"geometry": GEOMETRY, "steps": 11, "solver": "slow"}),
    ("apply", {"geometry": GEOMETRY, "material": {"k": 1, "l": np.float32(2)}, "count": True}),
    ("abstract_eval", {"geometry": SHAPE}),
    ("abstract_eval", {"geometry": SHAPE, "scale": {"shape": (), "dtype": "float32"}}),
    (
        "vjp",
        {
            "inputs": {"geometry": GEOMETRY, "scale": 2.0},
            "vjp_inputs": ["geometry.points", "scale"],
            "vjp_outputs": ["area"],
            "cotangent_vector": {"area": 1.0},
        },
    ),
]
