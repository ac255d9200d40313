"""The configuration a module sees, with nothing given (contract 10)."""

from typing import Any

from pydantic import BaseModel
from tesseract_core.runtime.config import get_config, update_config
from tesseract_core.runtime.experimental import log_metric, log_parameter


class InputSchema(BaseModel):
    change: dict[str, Any] = {}
    records: dict[str, Any] = {}


class OutputSchema(BaseModel):
    seen: Any


def apply(inputs):
    if inputs.change:
        update_config(**inputs.change)
    for key, value in inputs.records.items():
        log_parameter(key, value)
        log_metric(key, value)
    seen = get_config().model_dump()
    del seen["api_path"]  # the module's own here, always the default in tesseract-core
    return {"seen": seen}


CALLS = [
    ("apply", {}),
    ("apply", {"records": {"a": 1, "b": 2.5}}),
    ("apply", {"change": {"name": "changed", "profiling": True}}),
    ("apply", {}),
    ("apply", {"change": {"compression": "lz4", "output_format": "json+binref"}}),
    ("apply", {"change": {"colour": 1}}),
    ("apply", {"change": {"output_format": "xml"}}),
    ("apply", {"change": {"cuda_ipc_pool_fraction": 2}}),
    ("apply", {"change": {"mlflow_run_extra_args": "{'run_name': 'x'}"}}),
    ("apply", {"change": {"mlflow_run_extra_args": {"a": 1}, "mlflow_tracking_uri": ""}}),
    ("apply", {}),
]
