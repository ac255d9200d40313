"""What `tesseract_core.runtime.experimental` offers to modules.

`names(settings, runs)` makes the set that belongs to one component; the names of this module are
the process's, for use outside of any component.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from tesseract_host.runtime import _files, config
from tesseract_host.runtime._binref import BinrefArray, BinrefWriter
from tesseract_host.runtime._derived import (
    jacobian_from_jvp,
    jacobian_from_vjp,
    jvp_from_jacobian,
    vjp_from_jacobian,
)
from tesseract_host.runtime._files import InputPath, OutputPath
from tesseract_host.runtime._finite_differences import (
    finite_difference_jacobian,
    finite_difference_jvp,
    finite_difference_vjp,
)
from tesseract_host.runtime._lazy_sequence import LazySequence
from tesseract_host.runtime._references import TesseractReference
from tesseract_host.runtime._runs import Runs
from tesseract_host.runtime.jax_recipes import set_jax_vjp_cache_size

__all__ = [
    "SKIP_REQUIRED_FILE_CHECK",
    "BinrefArray",
    "BinrefWriter",
    "InputPath",
    "LazySequence",
    "OutputPath",
    "TesseractReference",
    "finite_difference_jacobian",
    "finite_difference_jvp",
    "finite_difference_vjp",
    "jacobian_from_jvp",
    "jacobian_from_vjp",
    "jvp_from_jacobian",
    "log_artifact",
    "log_metric",
    "log_parameter",
    "require_file",
    "set_jax_vjp_cache_size",
    "vjp_from_jacobian",
]

SKIP_REQUIRED_FILE_CHECK = False

_runs = Runs(config.process)


def require_file(relative: Any) -> Path:
    """The absolute path of an existing file in the input path, else ValueError or
    FileNotFoundError.
    """
    return _files.require_file(config.process, relative)


def log_parameter(key: str, value: Any) -> None:
    """Records a parameter of the running call."""
    _runs.current().log_parameter(key, value)


def log_metric(key: str, value: float, step: int | None = None) -> None:
    """Records a metric of the running call."""
    _runs.current().log_metric(key, value, step)


def log_artifact(path: Any) -> None:
    """Records a copy of a file or folder with the running call."""
    _runs.current().log_artifact(path)


def names(settings: config.Settings, runs: Runs) -> dict[str, Any]:
    """The names above for the component with these settings and runs."""

    def log_parameter(key: str, value: Any) -> None:
        runs.current().log_parameter(key, value)

    def log_metric(key: str, value: float, step: int | None = None) -> None:
        runs.current().log_metric(key, value, step)

    def log_artifact(path: Any) -> None:
        runs.current().log_artifact(path)

    shared = {name: globals()[name] for name in __all__}
    binref_array = type("BinrefArray", (BinrefArray,), {"settings": settings})
    binref_writer = type("BinrefWriter", (BinrefWriter,), {"array_type": binref_array})
    return {
        **shared,
        "BinrefArray": binref_array,
        "BinrefWriter": binref_writer,
        "InputPath": type("InputPath", (InputPath,), {"settings": settings}),
        "OutputPath": type("OutputPath", (OutputPath,), {"settings": settings}),
        "require_file": functools.partial(_files.require_file, settings),
        "log_parameter": log_parameter,
        "log_metric": log_metric,
        "log_artifact": log_artifact,
    }
