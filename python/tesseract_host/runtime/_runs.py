"""What a module records during a call: parameters, metrics, artifacts."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tesseract_host.runtime import config


class Run:
    """One call's folder; it and its files are made when something is written."""

    def __init__(self, root: Callable[[], Path], identity: str | None) -> None:
        self._root = root
        self._identity = identity
        self._lock = threading.Lock()
        self._parameters: dict[str, Any] = {}
        self._steps: dict[str, int] = {}

    def _logs(self) -> Path:
        if self._identity is None:
            self._identity = str(uuid.uuid4())
        folder = self._root() / f"run_{self._identity}" / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def log_parameter(self, key: str, value: Any) -> None:
        """Sets one entry of `parameters.json`."""
        with self._lock:
            self._parameters[key] = value
            text = json.dumps(self._parameters, default=str)
            (self._logs() / "parameters.json").write_text(text, encoding="utf-8")

    def log_metric(self, key: str, value: float, step: int | None = None) -> None:
        """Adds a line to `metrics.csv`; steps are counted per key from 0 unless given."""
        with self._lock:
            number = self._steps.get(key, 0) if step is None else step
            self._steps[key] = number + 1
            path = self._logs() / "metrics.csv"
            fresh = not path.exists()
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                if fresh:
                    writer.writerow(["timestamp", "key", "value", "step"])
                writer.writerow([time.time(), key, value, number])

    def log_artifact(self, path: Any) -> None:
        """Copies a file or folder into `artifacts/`."""
        source = Path(path)
        with self._lock:
            folder = self._logs() / "artifacts"
            folder.mkdir(exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, folder / source.name, dirs_exist_ok=True)
            else:
                shutil.copy2(source, folder / source.name)


class Runs:
    """The running calls of one component: the thread's own, else the one begun last."""

    def __init__(self, settings: config.Settings) -> None:
        self._settings = settings
        self._own = threading.local()
        self._all: list[Run] = []
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    @contextmanager
    def call(self, identity: str | None = None) -> Iterator[None]:
        """Makes a run the current one for a block."""
        run = Run(self._root, identity)
        before = getattr(self._own, "run", None)
        self._own.run = run
        self._all.append(run)
        try:
            yield
        finally:
            self._all.remove(run)
            self._own.run = before

    def current(self) -> Run:
        """The run of the calling thread; RuntimeError outside of any."""
        own: Run | None = getattr(self._own, "run", None)
        if own is not None:
            return own
        try:
            return self._all[-1]
        except IndexError:
            raise RuntimeError("logging works only while an endpoint runs") from None

    def close(self) -> None:
        """Removes the temporary folder, if one was needed."""
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def _root(self) -> Path:
        folder = self._settings.get_config().output_path
        if folder != ".":
            return Path(folder)
        with self._lock:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="tesseract-")
            return Path(self._temporary.name)
