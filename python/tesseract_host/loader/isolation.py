"""Keeping the modules of opened components apart.

Each component lives in a package of its own, `tsr_plugins.p<serial>_<base32 of its folder>`, and
its modules carry their own `__builtins__`, so that their imports, also those inside functions, can
be told from everybody else's.  `sys.path`, the environment and other modules' names stay as they
are; process-wide there is one finder for names that begin with `tsr_plugins`.
"""

from __future__ import annotations

import base64
import builtins
import importlib
import importlib.abc
import importlib.util
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from tesseract_host.loader import proxies, served
from tesseract_host.loader.streams import Output
from tesseract_host.runtime import config
from tesseract_host.runtime._runs import Runs

ROOT = "tsr_plugins"

# What the folders are called that packages are installed in.
PACKAGE_FOLDERS = frozenset(("site-packages", "dist-packages"))

_serials = itertools.count(1)
_open: dict[str, Isolation] = {}  # by package name
_install_lock = threading.Lock()
_path_before_first: tuple[str, ...] | None = None


class Isolation:
    """The package of one component: its modules, what they import, and what they print to."""

    def __init__(
        self,
        folder: Path,
        settings: config.Settings,
        output: Output,
        package: str | None = None,
    ) -> None:
        install()
        self.folder = folder
        self.settings = settings
        self.output = output
        self.runs = Runs(settings, output.state)
        self.package = package or f"{ROOT}.p{next(_serials)}_{encode_folder(folder)}"
        self.path = [str(folder)]
        self.imported: set[str] = set()  # names of modules that its own have imported
        self._local: dict[str, bool] = {}
        self.served = served.ServedModules(settings, self.runs, output)
        self._proxies = proxies.make(self)
        self.builtins = dict(vars(builtins))
        self.builtins["__import__"] = self.import_
        self.builtins["print"] = proxies.print_to(output)
        self.builtins[config.SETTINGS] = settings
        _open[self.package] = self

    # ---- Loading -------------------------------------------------------------------------------

    def load(self, file: Path) -> ModuleType:
        """Executes a file as a module of the package; on failure nothing of it stays."""
        stem = file.stem if file.stem.isidentifier() else encode_file(file.name)
        name = f"{self.package}.{stem}"
        try:
            package = importlib.import_module(self.package)
            spec = importlib.util.spec_from_file_location(
                name, file, loader=PluginLoader(name, str(file), self)
            )
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            setattr(package, stem, module)
            spec.loader.exec_module(module)
        except BaseException:
            self.close()
            raise
        return module

    def close(self) -> None:
        """Forgets the package and its modules; what still runs in them keeps working."""
        _open.pop(self.package, None)
        inside = f"{self.package}."
        for name in [n for n in list(sys.modules) if n == self.package or n.startswith(inside)]:
            sys.modules.pop(name, None)
        root = sys.modules.get(ROOT)
        if root is not None:
            vars(root).pop(self.package.rpartition(".")[2], None)
        self.runs.close()

    # ---- Importing -----------------------------------------------------------------------------

    def import_(
        self,
        name: str,
        globals: dict[str, Any] | None = None,
        locals: dict[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What the package's modules have as `__import__`."""
        if level:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        top = name.partition(".")[0]
        self.imported.add(name)
        if top in served.TOPS:
            self.imported.update(f"{name}.{item}" for item in fromlist or ())
            return self._import_served(name, fromlist)
        if self.is_local(top):
            inner = f"{self.package}.{name}"
            if fromlist:
                return builtins.__import__(inner, globals, locals, fromlist, 0)
            importlib.import_module(inner)
            return sys.modules[f"{self.package}.{top}"]
        module = builtins.__import__(name, globals, locals, fromlist or (), 0)
        return self._proxies.get(module.__name__, module)

    def _import_served(self, name: str, fromlist: Sequence[str] | None) -> ModuleType:
        module = self.served.load(name, fromlist or ())
        return module if fromlist else self.served.top(name.partition(".")[0])

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """What the package's modules have as `importlib.import_module`."""
        if name.startswith("."):
            return importlib.import_module(name, package)
        top = name.partition(".")[0]
        self.imported.add(name)
        if top in served.TOPS:
            return self.served.load(name, ("*",))
        if self.is_local(top):
            return importlib.import_module(f"{self.package}.{name}")
        module = importlib.import_module(name)
        return self._proxies.get(name, module)

    def find_spec(self, name: str, package: str | None = None) -> ModuleSpec | None:
        """What the package's modules have as `importlib.util.find_spec`."""
        top = name.partition(".")[0]
        if top in served.TOPS and self.served.serves(name):
            return ModuleSpec(name, None)
        if not name.startswith(".") and self.is_local(top):
            return importlib.util.find_spec(f"{self.package}.{name}")
        return importlib.util.find_spec(name, package)

    def spec_from_file_location(
        self, name: str, location: Any = None, **keywords: Any
    ) -> ModuleSpec | None:
        """As importlib's; a source file in the folder becomes one of the package's modules."""
        spec = importlib.util.spec_from_file_location(name, location, **keywords)
        if spec is not None and type(spec.loader) is SourceFileLoader and spec.origin:
            if self._is_own(spec.origin):
                spec.loader = PluginLoader(spec.loader.name, spec.origin, self)
        return spec

    def is_local(self, top: str) -> bool:
        """True if the top-level name `top` means a module of the component's folder."""
        known = self._local.get(top)
        if known is None:
            known = self._decide(top)
            if known is None:  # not found: it may be by the next time
                return False
            self._local[top] = known
        return known

    def _decide(self, top: str) -> bool | None:
        if top in sys.stdlib_module_names or top in ("__main__", ROOT) or self._is_shared(top):
            return False
        portion = None
        for entry in [*self._search_path(), str(self.folder)]:
            spec = _find_in(top, entry)
            if spec is None:
                continue
            if spec.loader is not None:
                return self._claim(entry)
            portion = portion or entry if self._is_own(entry) else portion
        if portion is not None:
            return self._claim(portion)
        return None

    def _search_path(self) -> Iterable[str]:
        """`sys.path` without what other components have put there for themselves."""
        others = [o.folder for o in list(_open.values()) if o.folder != self.folder]
        for entry in list(sys.path):
            foreign = entry not in (_path_before_first or ()) and any(
                _is_within(entry, folder) for folder in others
            )
            if not foreign or self._is_own(entry):
                yield entry

    def _is_shared(self, top: str) -> bool:
        """True if the process has imported `top` from where packages are installed.

        Those exist once: a second copy of an extension module breaks, and of a package has other
        types.
        """
        entry = _imported_from(sys.modules.get(top))
        if entry is None:
            return False
        if not self._is_own(entry):
            return Path(entry).name in PACKAGE_FOLDERS or self._is_inside(entry)
        known = {os.path.realpath(e or os.getcwd()) for e in _path_before_first or ()}
        return entry in known and entry != os.path.realpath(self.folder)

    def _claim(self, entry: str) -> bool:
        if not self._is_own(entry):
            return False
        location = os.path.abspath(entry or os.getcwd())
        if location not in self.path:
            self.path.append(location)
        return True

    def _is_inside(self, path: str) -> bool:
        return _is_within(path, self.folder)

    def _is_own(self, path: str) -> bool:
        """True for a place in the folder that is not in an environment of Python's there."""
        if not self._is_inside(path):
            return False
        folder = Path(os.path.realpath(self.folder))
        place = Path(os.path.realpath(path or os.getcwd()))
        around = [p for p in (place, *place.parents) if p.is_relative_to(folder)]
        return not any(
            p.name in PACKAGE_FOLDERS or (p != folder and str(p) in _environments()) for p in around
        )


def _environments() -> set[str]:
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    return {os.path.realpath(prefix) for prefix in prefixes}


def _imported_from(module: ModuleType | None) -> str | None:
    """The real path of the entry of `sys.path` that a top-level module comes from, or None; None
    for another name of a component's module.
    """
    if getattr(module, "__name__", "").startswith(f"{ROOT}."):
        return None
    spec = getattr(module, "__spec__", None)
    places = list(getattr(spec, "submodule_search_locations", None) or ())
    if not places and getattr(spec, "has_location", False):
        places = [spec.origin]
    return os.path.dirname(os.path.realpath(places[0])) if places else None


def _is_within(path: str, folder: Path) -> bool:
    return Path(os.path.realpath(path or os.getcwd())).is_relative_to(os.path.realpath(folder))


def _find_in(top: str, entry: str) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(top, [entry])
    except (ImportError, OSError, ValueError):
        return None


# ---- Names -------------------------------------------------------------------------------------


def encode_folder(folder: Path) -> str:
    """A folder as part of a module name."""
    return base64.b32encode(os.fsencode(folder)).decode("ascii").rstrip("=").lower()


def decode_folder(text: str) -> Path:
    """The folder that `encode_folder` wrote; ValueError for anything else."""
    padded = text.upper() + "=" * (-len(text) % 8)
    return Path(os.fsdecode(base64.b32decode(padded)))


def encode_file(name: str) -> str:
    """A module name for a file whose own name can't be one."""
    return "_file_" + base64.b32encode(os.fsencode(name)).decode("ascii").rstrip("=").lower()


# ---- The finder --------------------------------------------------------------------------------


RACY_SECONDS = 2.0


class PluginLoader(SourceFileLoader):
    """Gives a module the component's builtins before it is executed."""

    def __init__(self, name: str, path: str, isolation: Isolation) -> None:
        super().__init__(name, path)
        self._isolation = isolation

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._isolation.builtins
        super().exec_module(module)

    def set_data(self, path: str, data: Any, **settings: Any) -> None:
        """Caches bytecode, but not of a file that was just written: Python knows files by size and
        second, so that it would take the bytecode for that of an edit in the same second.
        """
        if time.time() - os.stat(self.path).st_mtime > RACY_SECONDS:
            super().set_data(path, data, **settings)


class _PackageLoader(importlib.abc.Loader):
    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        return None


class PluginFinder(importlib.abc.MetaPathFinder):
    """Finds the packages of opened components and their modules.

    A name from another process, in a pickle say, is opened by the folder in it.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(ROOT):
            return None
        parts = fullname.split(".")
        if parts[0] != ROOT:
            return None
        if len(parts) == 1:
            return _package(fullname, [])
        isolation = self._isolation(f"{ROOT}.{parts[1]}")
        if isolation is None:
            return None
        if len(parts) == 2:
            return _package(fullname, isolation.path)
        return self._module(fullname, path, target, isolation)

    def _isolation(self, package: str) -> Isolation | None:
        known = _open.get(package)
        if known is not None:
            return known
        try:
            folder = decode_folder(package.rpartition(".")[2].partition("_")[2])
        except ValueError:
            return None
        if not folder.is_dir():
            return None
        return Isolation(folder, config.process, Output(None), package)

    def _module(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None,
        isolation: Isolation,
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None:
            return self._oddly_named(fullname, isolation)
        if type(spec.loader) is SourceFileLoader:
            spec.loader = PluginLoader(fullname, spec.loader.path, isolation)
        return spec

    def _oddly_named(self, fullname: str, isolation: Isolation) -> ModuleSpec | None:
        """A file whose own name is no module name, or has another suffix."""
        stem = fullname.rpartition(".")[2]
        for file in isolation.folder.iterdir():
            if encode_file(file.name) == stem and file.is_file():
                loader = PluginLoader(fullname, str(file), isolation)
                return importlib.util.spec_from_file_location(fullname, file, loader=loader)
        return None


def _package(name: str, path: list[str]) -> ModuleSpec:
    spec = ModuleSpec(name, _PackageLoader(), is_package=True)
    spec.submodule_search_locations = path
    return spec


def install() -> None:
    """Adds the finder; does nothing the second time."""
    global _path_before_first
    with _install_lock:
        if _path_before_first is None:
            _path_before_first = tuple(sys.path)
        if not any(isinstance(finder, PluginFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, PluginFinder())
