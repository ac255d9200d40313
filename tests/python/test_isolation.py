"""Components in one process do not see each other's modules."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import support

MODULE = """
import importlib
import importlib.util as iu
import sys
from dataclasses import dataclass
from pathlib import Path
import helper
from helper import NAME, second
import pkg
import pkg.sub
import pkg.sub as renamed
from pkg import sibling
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "src"))
import inner
sys.path.remove(str(HERE / "src"))

@dataclass
class Point:
    x: int

def square(x):
    return x * x

class InputSchema(BaseModel):
    code: str

class OutputSchema(BaseModel):
    y: Any

def apply(inputs):
    return {"y": [eval(inputs.code, globals())]}

def run(source):
    names = {}
    exec(source, globals(), names)
    return names["result"]

def lazily():
    import late
    from late import NAME as name
    import pkg.lazy
    return late.NAME, name, pkg.lazy.NAME
"""

FILES = {
    "helper.py": "import second\nimport tesseract_api\nNAME = '{0}'\n"
    "def back(): return tesseract_api.NAME\n",
    "second.py": "NAME = '{0}'\n",
    "late.py": "NAME = '{0}'\n",
    "stringly.py": "NAME = '{0}'\n",
    "pkg/__init__.py": "from . import sibling\nfrom .sub import NAME\nimport pkg.sub\n",
    "pkg/sub.py": "NAME = '{0}'\n",
    "pkg/sibling.py": "import helper\nNAME = '{0}'\n",
    "pkg/lazy.py": "NAME = '{0}'\n",
    "spaced/part.py": "NAME = '{0}'\n",
    "src/inner.py": "import deeper\nNAME = '{0}'\n",
    "src/deeper.py": "NAME = '{0}'\n",
    "data.txt": "{0}",
}


def make(folder: Path, name: str) -> Any:
    for file, text in FILES.items():
        path = folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(name))
    return support.Ours().open(support.write(folder / name, MODULE))


@pytest.fixture
def three(tmp_path: Path) -> dict[str, Any]:
    """Three components that bring the same names."""
    return {name: make(tmp_path, name) for name in ("one", "two", "three")}


def ask(component: Any, code: str) -> Any:
    return component.call("apply", {"inputs": {"code": code}})["y"][0]


FORMS = [
    "NAME",
    "helper.NAME",
    "second.NAME",
    "helper.back()",
    "pkg.NAME",
    "pkg.sub.NAME",
    "renamed.NAME",
    "sibling.NAME",
    "pkg.sibling.helper.NAME",
    "inner.NAME",
    "inner.deeper.NAME",
    "lazily()[0]",
    "lazily()[1]",
    "lazily()[2]",
    "importlib.import_module('stringly').NAME",
    "importlib.import_module('pkg.sub').NAME",
    "importlib.import_module('.sub', pkg.__name__).NAME",
    "__import__('late').NAME",
    "__import__('pkg.sub').sub.NAME",
    "__import__('pkg.sub', fromlist=['NAME']).NAME",
    "eval(\"__import__('late')\").NAME",
    "run('import late; result = late.NAME')",
    "run('from pkg.lazy import NAME as result')",
    "run('import importlib as i; result = i.import_module(\"late\").NAME')",
    "run('from importlib import import_module; result = import_module(\"late\").NAME')",
    "run('import importlib.util; result = importlib.util.find_spec(\"late\").origin') "
    "and Path(iu.find_spec('late').origin).parent.name",
    "run('import spaced.part; result = spaced.part.NAME')",
    "importlib.reload(importlib.import_module('late')).NAME",
    "(HERE / 'data.txt').read_text()",
    "sys.modules[__name__].NAME",
]


@pytest.mark.parametrize("code", FORMS)
def test_each_sees_its_own(three: dict[str, Any], code: str) -> None:
    for name in ("three", "one", "two", "one"):
        assert ask(three[name], code) == name


def test_from_eight_threads(three: dict[str, Any]) -> None:
    names = [*three] * 40
    start = threading.Barrier(8)

    def work(name: str) -> bool:
        return all(ask(three[name], code) == name for code in FORMS[:20])

    with ThreadPoolExecutor(8, initializer=start.wait) as pool:
        assert all(pool.map(work, names))


def test_two_instances_of_one_folder(tmp_path: Path) -> None:
    make(tmp_path, "one")
    path = tmp_path / "one" / "tesseract_api.py"
    first, second = support.Ours().open(path), support.Ours().open(path)
    assert ask(first, "id(helper)") != ask(second, "id(helper)")
    assert ask(first, "run('helper.mark = 1; result = hasattr(helper, \"mark\")')")
    assert not ask(second, "hasattr(helper, 'mark')")


def test_nothing_is_left_behind(three: dict[str, Any], tmp_path: Path) -> None:
    for component in three.values():
        for code in FORMS:
            ask(component, code)
    brought = [
        name
        for name, module in sys.modules.items()
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path))
    ]
    assert brought
    assert all(name.startswith("tsr_plugins.") for name in brought)
    assert not [entry for entry in sys.path if entry.startswith(str(tmp_path))]


def test_pickles(three: dict[str, Any]) -> None:
    for name, component in three.items():
        point = pickle.loads(pickle.dumps(component.module.Point(3)))
        assert type(point) is component.module.Point
        function = pickle.loads(pickle.dumps(component.module.square))
        assert function is component.module.square
        assert ask(component, "__import__('pickle').loads(__import__('pickle').dumps(Point(3)))")
        assert ask(component, "NAME") == name


CHILD = """
import multiprocessing, sys
sys.path.insert(0, {package!r})
from tesseract_host import loader
if __name__ == "__main__":
    component = loader.open({path!r})
    context = multiprocessing.get_context({method!r})
    with context.Pool(1) as pool:
        squares = pool.map_async(component.module.square, [2, 3]).get(60)
        print(squares, pool.apply_async(component.module.lazily).get(60))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_process_pools(tmp_path: Path, method: str) -> None:
    import tesseract_host

    make(tmp_path, "one").close()
    path = str(tmp_path / "one" / "tesseract_api.py")
    package = str(Path(tesseract_host.__file__).parents[1])
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(CHILD).format(package=package, path=path, method=method))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == "[4, 9] ('one', 'one', 'one')", done.stderr


def test_standard_and_installed_names_win_over_the_folder(tmp_path: Path) -> None:
    support.write(tmp_path / "c", "LOCAL = True\n", "json.py", head="")
    support.write(tmp_path / "c", "LOCAL = True\n", "numpy.py", head="")
    source = support.schema_source(
        "x: int = 0",
        body="import json; return {'y': [hasattr(json, 'LOCAL'), hasattr(np, 'LOCAL')]}",
    )
    opened = support.Ours().open(support.write(tmp_path / "c", source))
    assert opened.call("apply", {"inputs": {}})["y"] == [False, False]


def test_a_name_that_appears_later_is_found(tmp_path: Path) -> None:
    source = support.schema_source(
        "x: int = 0",
        body="import appears; return {'y': appears.X}",
    )
    opened = support.Ours().open(support.write(tmp_path / "c", source))
    with pytest.raises(RuntimeError, match="appears"):
        opened.call("apply", {"inputs": {}})
    support.write(tmp_path / "c", "X = 5\n", "appears.py", head="")
    assert opened.call("apply", {"inputs": {}})["y"] == 5


def test_files_loaded_by_hand_have_the_folders_imports(tmp_path: Path) -> None:
    support.write(tmp_path / "c", "X = 5\n", "helper.py", head="")
    support.write(tmp_path / "c", "import helper\nX = helper.X\n", "by_hand.py", head="")
    source = (
        "import importlib.util\n"
        "from pathlib import Path\n"
        "file = Path(__file__).parent / 'by_hand.py'\n"
        "spec = importlib.util.spec_from_file_location('any_name', file)\n"
        "by_hand = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(by_hand)\n"
    ) + support.schema_source("x: int = 0", body="return {'y': by_hand.X}")
    opened = support.Ours().open(support.write(tmp_path / "c", source))
    assert opened.call("apply", {"inputs": {}})["y"] == 5


def test_a_folder_put_on_the_path_by_one_is_not_seen_by_another(tmp_path: Path) -> None:
    source = (
        "import sys\nfrom pathlib import Path\n"
        "sys.path.insert(0, str(Path(__file__).parent / 'lib'))\n"
        + support.schema_source(
            "x: int = 0", body="import shared_name; return {'y': shared_name.X}"
        )
    )
    opened = []
    for name in ("one", "two"):
        support.write(tmp_path / name / "lib", f"X = '{name}'\n", "shared_name.py", head="")
        opened.append(support.Ours().open(support.write(tmp_path / name, source)))
    assert [o.call("apply", {"inputs": {}})["y"] for o in opened] == ["one", "two"]


# ---- Served names ------------------------------------------------------------------------------

IMPORTS = [
    "from tesseract_core.runtime import Array; result = Array",
    "import tesseract_core; result = tesseract_core.runtime.Array",
    "import tesseract_core.runtime; result = tesseract_core.runtime.Array",
    "import tesseract_core.runtime as r; result = r.Array",
    "from tesseract_core import runtime; result = runtime.Array",
    "import tesseract_core.runtime.schema_types; "
    "result = tesseract_core.runtime.schema_types.Array",
    "import tesseract_core.runtime.schema_types as s; result = s.Array",
    "from tesseract_core.runtime import schema_types; result = schema_types.Array",
    "from tesseract_core.runtime.schema_types import *; result = Array",
    "import importlib; result = importlib.import_module('tesseract_core.runtime').Array",
    "from tesseract_host.runtime import Array; result = Array",
    "import tesseract_host.runtime; result = tesseract_host.runtime.Array",
]


@pytest.mark.parametrize("code", IMPORTS)
def test_served_names(tmp_path: Path, code: str) -> None:
    from tesseract_host.runtime import schema_types

    opened = make(tmp_path, "one")
    assert ask(opened, f"run({code!r})") is schema_types.Array


WITHOUT_CORE = """
import sys
sys.path.insert(0, {package!r})
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tesseract_core":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from tesseract_host import loader
component = loader.open({path!r})
print(component.call("apply", {{"inputs": {{"x": 2}}}}))
try:
    loader.open({other!r})
except RuntimeError as error:
    print(type(error.__cause__).__name__)
assert "tesseract_core" not in sys.modules
"""


def test_tesseract_core_need_not_be_installed(tmp_path: Path) -> None:
    import tesseract_host

    source = support.schema_source("x: Float64", "y: Float64", "return {'y': inputs.x}")
    path = support.write(tmp_path / "c", source)
    other = support.write(tmp_path / "d", "from tesseract_core.runtime import Unheard\n")
    package = str(Path(tesseract_host.__file__).parents[1])
    code = WITHOUT_CORE.format(package=package, path=str(path), other=str(other))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert "2.0" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "ImportError"


def test_names_we_do_not_serve_come_from_tesseract_core(reference: Any, tmp_path: Path) -> None:
    opened = make(tmp_path, "one")
    code = "from tesseract_core.runtime.logs import get_logger; result = get_logger"
    from tesseract_core.runtime.logs import get_logger

    assert ask(opened, f"run({code!r})") is get_logger


def test_fields_declared_with_the_types_of_tesseract_core(reference: Any, tmp_path: Path) -> None:
    import tesseract_core.runtime as real

    source = support.schema_source(
        "x: given.Differentiable[given.Array[(None,), 'float32']]",
        "y: given.Differentiable[given.Array[(None,), 'float32']]",
        "return {'y': inputs.x * 2}",
    )
    source += (
        "def jacobian_vector_product(inputs, jvp_inputs, jvp_outputs, tangent_vector):\n"
        "    return {'y': tangent_vector['x'] * 2}\n"
    )
    path = support.write(tmp_path / "c", "import given_types as given\n" + source)
    support.write(tmp_path / "site", "from tesseract_core.runtime import *\n", "given_types.py", "")
    sys.path.insert(0, str(tmp_path / "site"))
    try:
        opened = support.Ours().open(path)
    finally:
        sys.path.remove(str(tmp_path / "site"))
    assert issubclass(sys.modules.pop("given_types").Array, real.Array)
    assert opened.call("apply", {"inputs": {"x": [1]}})["y"] == [2]
    plan = opened.prepare("jvp", ("x",), ("y",), ("x",), "")
    assert plan.run(([1.0],), ([3.0],))[0][0] == [6]
