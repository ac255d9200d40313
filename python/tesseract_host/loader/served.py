"""The names `tesseract_core.*` as a component's modules see them.

They are served by our own runtime, whether or not tesseract-core is installed; what we don't serve
comes from the installed one.  Each component has its own set, since configuration, files and runs
belong to the component.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from tesseract_host.loader.streams import Output
from tesseract_host.runtime import config, errors
from tesseract_host.runtime._runs import Runs

CORE = "tesseract_core"
HOST = "tesseract_host"
TOPS = frozenset((CORE, HOST))

# Served submodules of the runtime package; those of components' own are made by ServedModules.
SUBMODULES = ("config", "experimental", "jax_recipes", "schema_types", "tree_transforms")


class ServedModule(ModuleType):
    """A module whose names come from a mapping, then from the real module of that name."""

    def __init__(self, name: str, lookup: Callable[[str], Any]) -> None:
        super().__init__(name)
        self.__dict__["_lookup"] = lookup

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__all__", "__version__"):
            raise AttributeError(name)
        try:
            return self.__dict__["_lookup"](name)
        except LookupError:
            pass
        try:
            real = importlib.import_module(self.__name__)
        except ImportError as error:
            raise AttributeError(
                f"{self.__name__}.{name} is not served by tesseract-host, "
                f"and {CORE} can't be imported: {error}"
            ) from None
        return getattr(real, name)


class ServedModules:
    """All served modules of one component, each made when it is first asked for."""

    def __init__(self, settings: config.Settings, runs: Runs, output: Output) -> None:
        self._settings = settings
        self._runs = runs
        self._output = output
        self._modules: dict[str, ModuleType] = {}
        self.out_of_domain: list[type[BaseException]] = []

    @property
    def uses_runs(self) -> bool:
        """True once the module has asked for the functions that record things."""
        return f"{CORE}.runtime.experimental" in self._modules

    def serves(self, name: str) -> bool:
        """True for a module that comes from us."""
        top, _, rest = name.partition(".")
        package, _, module = rest.partition(".")
        if top not in TOPS or package not in ("", "runtime"):
            return False
        return not (top == HOST and not package) and module in ("", *SUBMODULES)

    def top(self, name: str) -> ModuleType:
        """`tesseract_core` or `tesseract_host`."""
        return self._served(name)

    def load(self, name: str, fromlist: Sequence[str]) -> ModuleType:
        """The module of this name, ours or the installed one's."""
        if not self.serves(name) and name != HOST:
            return importlib.import_module(name)
        module = self._served(name)
        for item in fromlist:  # submodules that only the installed package has
            inner = f"{name}.{item}"
            if item != "*" and self.serves(inner):
                self._served(inner)
        return module

    def _served(self, name: str) -> ModuleType:
        module = self._modules.get(name)
        if module is None:
            lookup = self._table(name.partition(".")[2])
            module = self._modules.setdefault(name, ServedModule(name, lookup))
            if name in TOPS or name.endswith(".runtime"):
                module.__path__ = []
            if self.uses_runs:
                self._output.state.surround = True
        return module

    def _table(self, name: str) -> Callable[[str], Any]:
        """What gives the names of `<top>`, `<top>.runtime` or `<top>.runtime.<submodule>`."""
        if not name:
            return {"runtime": self._runtime()}.__getitem__
        if name == "runtime":
            return self._runtime_name
        submodule = name.partition(".")[2]
        if submodule == "config":
            return {
                "get_config": self._settings.get_config,
                "update_config": self._update_config,
                "RuntimeConfig": config.RuntimeConfig,
                "__all__": ["get_config", "update_config"],
            }.__getitem__
        if submodule == "experimental":
            from tesseract_host.runtime import experimental

            names = experimental.names(self._settings, self._runs)
            return {**names, "__all__": list(names)}.__getitem__
        return _module_names(f"{HOST}.runtime.{submodule}")

    def _runtime(self) -> ModuleType:
        return self._served(f"{CORE}.runtime")

    def _runtime_name(self, name: str) -> Any:
        if name in SUBMODULES:
            return self._served(f"{CORE}.runtime.{name}")
        if name == "register_out_of_domain":
            return self._register_out_of_domain
        return _module_names(f"{HOST}.runtime")(name)

    def _update_config(self, **changes: Any) -> None:
        self._settings.update_config(**changes)

    def _register_out_of_domain(self, *types: type[BaseException]) -> None:
        """As the runtime's, for this component only."""
        for type_ in types:
            if not (isinstance(type_, type) and issubclass(type_, Exception)):
                raise TypeError(f"{type_!r} is no exception type")
        self.out_of_domain.extend(types)

    def is_out_of_domain(self, error: BaseException) -> bool:
        """True if the component means "not at this point" by raising this."""
        return isinstance(error, (*errors.out_of_domain_types, *self.out_of_domain))


def _module_names(module: str) -> Callable[[str], Any]:
    def lookup(name: str) -> Any:
        names: Mapping[str, Any] = vars(importlib.import_module(module))
        public = names.get("__all__", ())
        if name == "__all__" or name in public:
            return names[name]
        raise LookupError(name)

    return lookup
