"""Components of Python clients as the C host sees them: the same instance, its state, its lock."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import native
import numpy as np
import pytest
import support

# `meet` is any function of the test's, called inside of apply.
SOURCE = """
calls = 0
inside = 0
most = 0
meet = None

class InputSchema(BaseModel):
    x: Differentiable[Array[(None,), Float64]]
    mode: str = ""

class OutputSchema(BaseModel):
    y: Differentiable[Array[(None,), Float64]]

def apply(inputs):
    global calls, inside, most
    calls += 1
    inside += 1
    most = max(most, inside)
    try:
        if inputs.mode == "fail":
            raise KeyError("on purpose")
        if inputs.mode == "domain":
            from tesseract_host.runtime import OutOfDomain
            raise OutOfDomain("elsewhere")
        if meet is not None:
            meet()
    finally:
        inside -= 1
    return OutputSchema(y=calls * inputs.x)

def vector_jacobian_product(inputs, vjp_inputs, vjp_outputs, cotangent_vector):
    return {"x": calls * cotangent_vector["y"]}
"""

X = np.arange(3.0)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Any]:
    native.need_binding()
    from tesseract_host import Tesseract

    def open_(name: str = "adopted", **options: Any) -> Any:
        return Tesseract.from_tesseract_api(support.write(tmp_path / name, SOURCE), **options)

    return open_


def module_of(tesseract: Any) -> Any:
    return tesseract._client.component.module


def prepared(host: Any, json: str = "{}") -> Any:
    """A call of apply, for C."""
    return host._prepare(1, {"x": X}, json, None, None)


@pytest.mark.parametrize("threads", ["serial", "concurrent", "owner"])
def test_it_is_the_same_instance(opened: Any, threads: str) -> None:
    tesseract = opened(threads=threads)
    host = tesseract._client.host()
    assert host is tesseract.with_encoding()._client.host()
    assert host.apply({"x": X})[0]["y"].tolist() == [0, 1, 2]
    assert tesseract.apply({"x": X})["y"].tolist() == [0, 2, 4]
    out = np.empty(3)
    assert native.run(prepared(host), [X], [out]) == 0
    assert out.tolist() == [0, 3, 6]
    assert host.vjp({"x": X}, {"y": np.ones(3)}, wrt=["x"])["x"].tolist() == [3, 3, 3]
    assert module_of(tesseract).calls == 3


def test_another_opening_is_another_instance(opened: Any) -> None:
    first, second = opened(), opened()
    first._client.host().apply({"x": X})
    assert (module_of(first).calls, module_of(second).calls) == (1, 0)
    assert first._client.host().pointer != second._client.host().pointer


@pytest.mark.parametrize("threads", ["serial", "owner"])
def test_calls_of_both_sides_take_turns(opened: Any, threads: str) -> None:
    tesseract = opened(threads=threads)
    host, module = tesseract._client.host(), module_of(tesseract)
    call = prepared(host)
    module.meet = lambda: time.sleep(0.003)  # gives up the GIL

    def in_c() -> None:
        for _ in range(15):
            assert native.run(call, [X], [np.empty(3)]) == 0

    def in_python() -> None:
        for _ in range(15):
            tesseract.apply({"x": X})

    support.in_threads(in_c, in_python, in_c, in_python)
    assert module.calls == 60
    assert module.most == 1


def test_concurrent_components_don_t_wait(opened: Any) -> None:
    tesseract = opened(threads="concurrent")
    call, module = prepared(tesseract._client.host()), module_of(tesseract)
    meeting = threading.Barrier(2, timeout=30)
    module.meet = meeting.wait
    support.in_threads(
        lambda: native.run(call, [X], [np.empty(3)]),
        lambda: tesseract.apply({"x": X}),
    )
    assert module.most == 2


@pytest.mark.parametrize("threads", ["serial", "owner"])
def test_a_call_may_call_again_from_either_side(opened: Any, threads: str) -> None:
    tesseract = opened(threads=threads)
    call, module = prepared(tesseract._client.host()), module_of(tesseract)
    depth: list[str] = []

    def again() -> None:
        if len(depth) == 4:
            return
        depth.append("c" if len(depth) % 2 else "python")
        if depth[-1] == "c":
            assert native.run(call, [X], [np.empty(3)]) == 0
        else:
            tesseract.apply({"x": X})

    module.meet = again
    assert native.run(call, [X], [np.empty(3)]) == 0
    assert depth == ["python", "c", "python", "c"] and module.calls == 5
    depth.clear()
    tesseract.apply({"x": X})
    assert len(depth) == 4


def test_two_sides_that_nest_don_t_wait_for_each_other(opened: Any) -> None:
    """With two locks, one thread would hold each."""
    tesseract = opened()
    call, module = prepared(tesseract._client.host()), module_of(tesseract)
    local = threading.local()

    def again() -> None:
        time.sleep(0.001)
        if not getattr(local, "inside", False):
            local.inside = True
            native.run(call, [X], [np.empty(3)])
            tesseract.apply({"x": X})
            local.inside = False

    module.meet = again

    def in_c() -> None:
        for _ in range(10):
            native.run(call, [X], [np.empty(3)])

    def in_python() -> None:
        for _ in range(10):
            tesseract.apply({"x": X})

    support.in_threads(in_c, in_python, in_c, in_python)
    assert module.calls == 3 * 40


def test_an_owner_s_module_runs_on_its_thread_alone(opened: Any) -> None:
    tesseract = opened(threads="owner")
    host, module = tesseract._client.host(), module_of(tesseract)
    seen = set()
    module.meet = lambda: seen.add(threading.get_ident())
    tesseract.apply({"x": X})
    host.apply({"x": X})
    support.in_threads(lambda: native.run(prepared(host), [X], [np.empty(3)]))
    assert len(seen) == 1 and threading.get_ident() not in seen


def test_the_second_run_needs_no_plan(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tesseract_host import _engine
    from tesseract_host.loader import Plan

    if _engine.native is None:
        pytest.skip(_engine.missing)
    general = []
    run = Plan.run

    def counted(self: Any, *arguments: Any) -> Any:
        general.append(1)
        return run(self, *arguments)

    monkeypatch.setattr(Plan, "run", counted)
    tesseract = opened()
    call = prepared(tesseract._client.host())
    for _ in range(5):
        assert native.run(call, [X], [np.empty(3)]) == 0
    assert module_of(tesseract).calls == 5
    assert general == [1]


# ---- Lives -------------------------------------------------------------------------------------


def weak(tesseract: Any) -> weakref.ref[Any]:
    return weakref.ref(tesseract._client.component)


def test_the_host_keeps_the_component_open(opened: Any) -> None:
    tesseract = opened()
    host, component, name = (
        tesseract._client.host(),
        weak(tesseract),
        module_of(tesseract).__name__,
    )
    client = weakref.ref(tesseract._client)
    del tesseract
    gc.collect()
    assert client() is None
    assert component() is not None and name in sys.modules
    assert host.apply({"x": X})[0]["y"].tolist() == [0, 1, 2]
    del host
    gc.collect()
    assert component() is None and name not in sys.modules


def test_a_prepared_call_keeps_it_open_too(opened: Any) -> None:
    tesseract = opened()
    component, call = weak(tesseract), prepared(tesseract._client.host())
    del tesseract
    gc.collect()
    assert component() is not None
    assert native.run(call, [X], [np.empty(3)]) == 0
    del call
    gc.collect()
    assert component() is None


def test_closing_on_the_host_s_side_leaves_the_module_alone(opened: Any) -> None:
    tesseract = opened()
    client = tesseract._client
    client.host().apply({"x": X})
    client._host = None
    gc.collect()
    assert tesseract.apply({"x": X})["y"].tolist() == [0, 2, 4]
    assert client.host().apply({"x": X})[0]["y"].tolist() == [0, 3, 6]


def test_an_owner_s_thread_lives_as_long(opened: Any) -> None:
    tesseract = opened(threads="owner")
    host, component = tesseract._client.host(), weak(tesseract)
    del tesseract
    gc.collect()
    assert host.apply({"x": X})[0]["y"].tolist() == [0, 1, 2]
    del host
    deadline = time.monotonic() + 20
    while component() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert component() is None


def test_a_cycle_of_the_user_s_is_collected(opened: Any) -> None:
    class Holder:
        pass

    holder: Any = Holder()
    holder.tesseract = opened()
    holder.host = holder.tesseract._client.host()
    holder.tesseract._client.holder = holder
    component = weak(holder.tesseract)
    del holder
    gc.collect()  # of the user's objects, which lets the host drop the component's
    gc.collect()
    assert component() is None


def test_dropping_in_a_loop_leaves_nothing(opened: Any) -> None:
    alive = []
    for _ in range(5):
        tesseract = opened()
        tesseract._client.host().apply({"x": X})
        alive.append(weak(tesseract))
    del tesseract
    gc.collect()
    assert [component() for component in alive] == [None] * 5


# ---- Errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["serial", "concurrent", "owner"])
def test_errors_carry_the_traceback(opened: Any, threads: str) -> None:
    from tesseract_host.exceptions import EndpointError, InputError

    tesseract = opened(threads=threads)
    host = tesseract._client.host()
    with pytest.raises(EndpointError, match="on purpose") as caught:
        host.apply({"x": X}, '{"mode": "fail"}')
    assert 'raise KeyError("on purpose")' in caught.value.traceback
    assert "tesseract_api.py" in str(caught.value) and not caught.value.out_of_domain
    with pytest.raises(EndpointError, match="elsewhere") as caught:
        host.apply({"x": X}, '{"mode": "domain"}')
    assert caught.value.out_of_domain
    with pytest.raises(InputError) as refused:
        host.apply({"x": np.ones((2, 2))})
    assert refused.value.path == "x"
    with pytest.raises(NotImplementedError):
        host.abstract_eval({"x": X})
    assert host.apply({"x": X})[0]["y"].shape == (3,)
    assert tesseract.apply({"x": X})["y"].shape == (3,)


def test_a_wrong_key_is_refused(opened: Any) -> None:
    from tesseract_host import _host

    opened()._client.host()
    for options in ('{"live": "nothing"}', '{"live": 3}', '{"live": [1]}'):
        with pytest.raises(FileNotFoundError, match="no live component is offered"):
            _host.binding().open(b"x", f'{{"loader": "python", {options[1:]}'.encode(), None)
    with pytest.raises(ValueError, match="unknown option threads"):
        _host.binding().open(b"x", b'{"loader":"python","live":"k","threads":"serial"}', None)


def test_a_module_object_is_adopted_as_it_is() -> None:
    native.need_binding()
    from tesseract_host import Tesseract

    module: Any = types.ModuleType("made_here")
    source = support.HEAD.replace("tesseract_core", "tesseract_host") + SOURCE
    exec(compile(source, "made_here", "exec", dont_inherit=True), vars(module))
    tesseract = Tesseract.from_tesseract_api(module)
    tesseract.apply({"x": X})
    assert tesseract._client.host().apply({"x": X})[0]["y"].tolist() == [0, 2, 4]
    assert module.calls == 2
    assert "made_here" in tesseract._client.identity


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_goes_on(opened: Any) -> None:
    tesseract = opened()
    host = tesseract._client.host()
    call = prepared(host)
    native.run(call, [X], [np.empty(3)])
    child = os.fork()
    if not child:
        status = 1
        try:
            out = np.empty(3)
            done = native.run(call, [X], [out]) == 0 and out[1] == 2
            status = 0 if done and tesseract.apply({"x": X})["y"][1] == 3 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- What integrations ask ---------------------------------------------------------------------

IDENTITY = """
import sys
sys.path.insert(0, {package!r})
from tesseract_host import Tesseract
opened = [Tesseract.from_tesseract_api({file!r}, **options) for options in ({{}}, {{}},
    {{"runtime_config": {{"name": "n"}}}})]
print(*(t._client.identity for t in opened))
"""


def test_identities_are_those_of_another_process(opened: Any, tmp_path: Path) -> None:
    first, second = opened(), opened()
    third = opened(runtime_config={"name": "n"})
    names = [t._client.identity for t in (first, second, third)]
    package = str(Path(__file__).parents[2] / "python")
    file = str(tmp_path / "adopted" / "tesseract_api.py")
    program = IDENTITY.format(package=package, file=file)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == names
    base = names[0].rpartition("-")[0]
    assert names[1] == f"{base}-1" and names[2].split("-")[:2] == base.split("-")[:2]
    assert names[2].split("-")[2] != base.split("-")[2]
    assert first.with_encoding()._client.identity == names[0]


def test_the_ordinal_of_a_dropped_instance_is_given_again(opened: Any) -> None:
    first, second = opened(), opened()
    names = [first._client.identity, second._client.identity]
    del first
    gc.collect()
    assert opened()._client.identity == names[0] != names[1]


def test_another_source_has_another_identity(opened: Any, tmp_path: Path) -> None:
    before = opened()._client.identity
    file = tmp_path / "adopted" / "tesseract_api.py"
    (tmp_path / "other").mkdir()
    from tesseract_host import Tesseract

    changed = tmp_path / "other" / "adopted" / "tesseract_api.py"
    changed.parent.mkdir()
    changed.write_text(file.read_text() + "\n# another\n")
    after = Tesseract.from_tesseract_api(changed)._client.identity
    assert before.split("-")[0] == after.split("-")[0]
    assert before.split("-")[1] != after.split("-")[1]


def test_what_the_client_says(opened: Any) -> None:
    client = opened()._client
    assert client.kind == "python"
    assert [leaf["path"] for leaf in client.description["inputs"]] == ["x", "mode"]
    assert client.description["endpoints"] == {"apply": "offered", "vjp": "offered"}
    assert client.host().name == client.name == "adopted"
    assert client.host().openapi["openapi"]


@pytest.mark.parametrize(
    ("line", "uses"),
    [
        ("", False),
        ("import json.decoder", False),
        ("import jax", True),
        ("import jax.numpy as jnp", True),
        ("from jax import numpy", True),
        ("from tesseract_core.runtime.jax_recipes import jax_apply", True),
        ("from tesseract_core.runtime import jax_recipes", True),
        ("import helper", True),
        ("import installed_helper", True),
        ("def f():\n    import jax.numpy as jnp", True),
        ("class A:\n    def f(self):\n        return [lambda: __import__ and jax]", True),
        ("def f():\n    from tesseract_core.runtime import jax_recipes", True),
        ("import later", True),
        ("class A:\n    class B:\n        def f(self):\n            import jax", True),
        ("class A:\n    def f(self):\n        import json\nA.me = A", False),
    ],
)
def test_whether_a_module_uses_jax(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, uses: bool
) -> None:
    if uses:
        pytest.importorskip("jax")
    from tesseract_host import Tesseract

    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "installed_helper.py").write_text("import jax.numpy as jnp\n")
    monkeypatch.syspath_prepend(str(site))
    source = f"{line}\n{support.schema_source('x: int = 0')}"
    file = support.write(tmp_path / "module", source)
    (file.parent / "helper.py").write_text("import jax\n")
    (file.parent / "later.py").write_text("def f():\n    from jax import numpy\n")
    assert Tesseract.from_tesseract_api(file)._client.uses_jax is uses
