"""Runs: the folder of one call, and what a module records in it.

A run is `<output path>/run_<id>/logs`; without an output path it is in a temporary folder that is
removed with the component.  Folders and files are made when something is written.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tesseract_host.runtime import config


class Run:
    """One call's folder.  Safe to use from several threads."""

    def __init__(self, root: Callable[[], Path], identity: str | None) -> None:
        self.is_named = identity is not None
        self._root = root
        self._identity = identity
        self._lock = threading.Lock()
        self._parameters: dict[str, Any] = {}
        self._steps: dict[str, int] = {}

    def folder(self) -> Path:
        """The folder of the run's files, made if need be; ValueError for an id that leaves it."""
        if self._identity is None:
            self._identity = str(uuid.uuid4())
        root = self._root()
        folder = root / f"run_{self._identity}" / "logs"
        if not folder.resolve().is_relative_to(root.resolve()):
            raise ValueError(f"run id {self._identity!r} leads out of the output path {root}")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def log_parameter(self, key: str, value: Any) -> None:
        """Sets one entry of `parameters.json`."""
        with self._lock:
            self._parameters[key] = value
            text = json.dumps(self._parameters, indent=2, default=str)
            (self.folder() / "parameters.json").write_text(text, encoding="utf-8")

    def log_metric(self, key: str, value: float, step: int | None = None) -> None:
        """Adds a line to `metrics.csv`; steps are counted per key from 0 unless given."""
        with self._lock:
            count = self._steps.get(key, 0)
            self._steps[key] = count + 1
            path = self.folder() / "metrics.csv"
            fresh = not path.exists()
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                if fresh:
                    writer.writerow(["timestamp", "key", "value", "step"])
                now = datetime.now().isoformat()
                writer.writerow([now, key, value, count if step is None else step])

    def log_artifact(self, path: Any) -> None:
        """Copies a file or folder into `artifacts/`; FileNotFoundError if there is none."""
        source = Path(path)
        if not source.exists():
            raise FileNotFoundError(f"there is no artifact {source}")
        with self._lock:
            folder = self.folder() / "artifacts"
            folder.mkdir(exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, folder / source.name, dirs_exist_ok=True)
            else:
                shutil.copy2(source, folder / source.name)


class Runs:
    """The running calls of one component: the thread's own, else the one begun last.

    `needed` is false as long as a call may go without a run: nothing is captured, and the module
    has not asked for the functions that record things.  It is what `state.surround` says, which
    compiled endpoints look at.
    """

    def __init__(self, settings: config.Settings, state: Any = None) -> None:
        self._state = SimpleNamespace(surround=False) if state is None else state
        self._settings = settings
        self._own = threading.local()
        self._all: list[Run] = []
        self._loaded = False
        self._late: Run | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    @property
    def needed(self) -> bool:
        return bool(self._state.surround)

    @needed.setter
    def needed(self, value: bool) -> None:
        self._state.surround = value

    def loaded(self) -> None:
        """Says that the import of the module is over."""
        self._loaded = True

    def asked_for(self) -> None:
        """Says that the module has imported the recording functions.

        If that happens in an endpoint, the call has begun without a run and gets one now; it lasts
        until the next call, whose beginning is the first thing seen again.
        """
        if self._loaded and not self.needed:
            self._late = Run(self._root, None)
        self.needed = True

    @contextmanager
    def call(self, identity: str | None = None) -> Iterator[Run]:
        """Makes a run the current one for a block."""
        run = Run(self._root, identity)
        before = getattr(self._own, "run", None)
        self._late = None
        self._own.run = run
        self._all.append(run)
        try:
            yield run
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
            if self._late is not None:
                return self._late
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
