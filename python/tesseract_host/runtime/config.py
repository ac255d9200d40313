"""The configuration that a module reads by `get_config`.

Each opened component has its own `Settings`; a module opened by the loader gets the two functions
of its instance, whatever thread it asks from.  The functions of this module are the process's.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

__all__ = ["RuntimeConfig", "Settings", "get_config", "update_config"]


def _evaluated(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except SyntaxError as error:
        raise ValueError("not a Python literal") from error


class RuntimeConfig(BaseModel):
    """One configuration; frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_path: Path = Path("tesseract_api.py")
    name: str = "Tesseract"
    description: str = ""
    version: str = "unknown"
    debug: bool = False
    debugpy_host: str = "127.0.0.1"
    debugpy_port: int = 5678
    input_path: str = "."
    output_path: str = "."
    output_format: Literal["json", "json+base64", "json+binref"] = "json"
    output_file: str = ""
    compression: Literal["lz4"] | None = None
    mlflow_tracking_uri: str = ""
    mlflow_run_extra_args: Annotated[dict[str, Any], BeforeValidator(_evaluated)] = Field(
        default_factory=dict
    )
    profiling: bool = False
    tracing: bool = False
    gpu_transport: Literal["none", "cuda_ipc"] = "none"
    cuda_ipc_pool_fraction: float = Field(default=0.25, ge=0, le=1)

    @field_validator("input_path", "output_path")
    @classmethod
    def _absolute(cls, value: str) -> str:
        return str(Path(value).resolve())


class Settings:
    """The configuration of one component: what was given, then `TESSERACT_<FIELD>`, then defaults.

    Safe to use from any thread.
    """

    def __init__(self, given: dict[str, Any] | None = None) -> None:
        self._lock = threading.Lock()
        self._given = dict(given or {})
        self._config: RuntimeConfig | None = None

    def get_config(self) -> RuntimeConfig:
        """The configuration in force."""
        config = self._config
        return self.update_config() if config is None else config

    def update_config(self, **changes: Any) -> RuntimeConfig:
        """Puts other values in force; raises pydantic's ValidationError for unknown ones."""
        with self._lock:
            values: dict[str, Any] = {}
            for field in RuntimeConfig.model_fields:
                text = os.environ.get(f"TESSERACT_{field.upper()}")
                if text is not None:
                    values[field] = text
            given = {**self._given, **changes}
            config = RuntimeConfig(**{**values, **given})
            self._given, self._config = given, config
            return config


process = Settings()

# The name in a component's builtins under which its settings are.
SETTINGS = "__tesseract_settings__"


def calling() -> RuntimeConfig:
    """The configuration of the component whose code has called this, else the process's.

    For what is the same for all components, array types say.  A component's modules have their own
    builtins, by which their frames are known, on any thread.
    """
    frame = sys._getframe(1)
    while frame is not None:
        settings = frame.f_builtins.get(SETTINGS)
        if settings is not None:
            config: RuntimeConfig = settings.get_config()
            return config
        frame = frame.f_back  # type: ignore[assignment]
    return process.get_config()


def get_config() -> RuntimeConfig:
    """The process's configuration."""
    return process.get_config()


def update_config(**changes: Any) -> None:
    """Changes the process's configuration."""
    process.update_config(**changes)
