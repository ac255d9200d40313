"""Generated schemas and values: equal results, or equal errors, in both hosts.

Opening a module takes tesseract-core a second or so, so there are few schemas and many values of
each.  DIFFERENTIAL_EXAMPLES=20 tries twenty times as many, and others at each run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import compare
import pytest

pytest.importorskip("hypothesis", reason="hypothesis is not installed")
pytest.importorskip("tesseract_core.runtime", reason="tesseract-core[runtime] is not installed")

import schemas
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SOURCE = """
from typing import Any, Literal, Optional, Union
from looking import look
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable

{models}

class InputSchema(BaseModel):
    base: Differentiable[Array[(None,), "float64"]] = None
    how: str = "dict"
    raw: Any = None
{fields}

class OutputSchema(BaseModel):
    base: Differentiable[Array[(None,), "float64"]] = [0.0]
    seen: Any = None
{optional}

def apply(inputs):
    given = inputs.model_fields_set - {{"how", "raw"}}
    if inputs.how == "raw":
        return inputs.raw
    if inputs.how == "instance":
        return OutputSchema(**inputs.model_dump(include=given))
    seen = look({{name: getattr(inputs, name) for name in sorted(given)}})
    return {{"seen": seen, **inputs.model_dump(include=given)}}

def jacobian(inputs, jac_inputs, jac_outputs):
    return {{o: {{i: inputs.raw for i in jac_inputs}} for o in jac_outputs}}

def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):
    if inputs.raw is None:
        raise ValueError(repr(look(tangent_vector)))
    return {{o: inputs.raw for o in jvp_outputs}}

def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    if inputs.raw is None:
        raise ValueError(repr(look(cotangent_vector)))
    return {{i: inputs.raw for i in vjp_inputs}}

def abstract_eval(abstract_inputs):
    if abstract_inputs.how == "raw":
        return abstract_inputs.raw
    return {{"seen": look(abstract_inputs)}}
"""

LOOKING = Path(__file__).parent / "zoo" / "looking.py"

FACTOR = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "1"))

profile = settings(
    derandomize=FACTOR == 1,  # the same examples everywhere
    database=None,
    deadline=None,
    print_blob=False,
    phases=[Phase.generate],  # shrinking would open thousands of modules
    suppress_health_check=list(HealthCheck),
)


class Pair:
    """One generated module, opened by both hosts."""

    def __init__(self, schema: schemas.Schema) -> None:
        fields = "\n".join(f"    {name}: {t.text} = None" for name, t in schema.fields.items())
        optional = "\n".join(
            f"    {name}: Optional[{t.text}] = None" for name, t in schema.fields.items()
        )
        self.source = SOURCE.format(models=schema.models, fields=fields, optional=optional)
        self._folder = Path(tempfile.mkdtemp(prefix="generated-"))
        shutil.copy(LOOKING, self._folder)
        path = self._folder / "tesseract_api.py"
        path.write_text(self.source)
        self._hosts = compare.open_ours(path), compare.open_theirs(path)

    def check(self, endpoint: str, payload: Any) -> None:
        found = compare.differences(*self._hosts, [(endpoint, payload)])
        assert not found, f"{found[0]}\n{self.source}"

    def close(self) -> None:
        shutil.rmtree(self._folder)


def opened(data: st.DataObject) -> tuple[schemas.Schema, Pair]:
    schema = data.draw(schemas.schemas())
    return schema, Pair(schema)


def given_values(data: st.DataObject, schema: schemas.Schema, count: int) -> list[dict[str, Any]]:
    """Inputs: mostly one field at a time, so that one error does not hide another."""
    found = []
    for name, type_ in schema.fields.items():
        found += [{name: data.draw(schemas.values(type_))} for _ in range(count)]
    everything = {name: schemas.values(type_) for name, type_ in schema.fields.items()}
    return [*found, data.draw(st.fixed_dictionaries(everything))]


@settings(profile, max_examples=8 * FACTOR)
@given(st.data())
def test_apply(data: st.DataObject) -> None:
    schema, pair = opened(data)
    for inputs in given_values(data, schema, 6):
        pair.check("apply", inputs)
        pair.check("apply", {**inputs, "how": "instance"})
        pair.check("apply", {"raw": inputs, "how": "raw"})
    pair.close()


@settings(profile, max_examples=5 * FACTOR)
@given(st.data())
def test_abstract_eval(data: st.DataObject) -> None:
    schema, pair = opened(data)
    for inputs in given_values(data, schema, 4):
        abstract = as_shapes(inputs)
        pair.check("abstract_eval", abstract)
        pair.check("abstract_eval", {"raw": abstract, "how": "raw"})
        pair.check("abstract_eval", inputs)
    pair.close()


def as_shapes(value: Any) -> Any:
    """The value with its arrays given by shape and dtype."""
    if hasattr(value, "dtype"):
        return {"shape": tuple(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, dict):
        return {key: as_shapes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_shapes(item) for item in value)
    return value


@settings(profile, max_examples=6 * FACTOR)
@given(st.data())
def test_derivatives(data: st.DataObject) -> None:
    schema, pair = opened(data)
    for name, type_ in schema.fields.items():
        value = data.draw(schemas.values(type_))
        inputs = {"base": [1.0], name: value}
        for path, leaf in [("base", None), *paths(name, value, type_)][:4]:
            seed = data.draw(schemas.values(leaf or schemas.Type("array", "", ((None,), None))))
            for raw in (None, seed):
                given = {**inputs, "raw": raw}
                pair.check(
                    "jvp",
                    {
                        "inputs": given,
                        "jvp_inputs": [path],
                        "jvp_outputs": ["base"],
                        "tangent_vector": {path: seed},
                    },
                )
                pair.check(
                    "vjp",
                    {
                        "inputs": given,
                        "vjp_inputs": ["base"],
                        "vjp_outputs": [path],
                        "cotangent_vector": {path: seed},
                    },
                )
                lists = {"jac_inputs": [path], "jac_outputs": ["base", path]}
                pair.check("jacobian", {"inputs": given, **lists})
    pair.close()


def paths(name: str, value: Any, type_: schemas.Type) -> list[tuple[str, schemas.Type | None]]:
    """Paths into a value, differentiable or not, with the array type there where it is known."""
    if type_.kind == "array":
        return [(name, type_)]
    found: list[tuple[str, schemas.Type | None]] = [(name, None)]
    if type_.kind in ("optional", "union"):
        return [item for part in type_.parts for item in paths(name, value, part)]
    if type_.kind == "model":
        for field, inner in type_.parts[0].items():
            item = value.get(field) if isinstance(value, dict) else None
            found += paths(f"{name}.{field}", item, inner)
    elif type_.kind == "dict" and isinstance(value, dict):
        for key, item in value.items():
            escaped = "".join(f"\\{c}" if c in "{}\\" else c for c in str(key))
            found += paths(f"{name}.{{{escaped}}}", item, type_.parts[0])
    elif type_.kind in ("list", "many", "tuple") and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            inner = type_.parts[min(index, len(type_.parts) - 1)]
            found += paths(f"{name}.[{index}]", item, inner)
    return found
