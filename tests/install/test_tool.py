"""The command ``tesseract-host``: what it prints and how it fails."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from installation import PROGRAMS, Installation, user_environment

Tool = Callable[..., subprocess.CompletedProcess[str]]

INPUTS = {"x": [1.0, 2.0, 3.0], "a": 2.0}


@pytest.fixture(scope="module")
def tool(from_prefix: Installation) -> Tool:
    """Runs the command with arguments and text on standard input."""

    def call(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in (from_prefix.command, *arguments)],
            env=user_environment(**from_prefix.variables),
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


@pytest.fixture(scope="module")
def square(from_prefix: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The component y = a x^2, native."""
    return from_prefix.build_square(tmp_path_factory.mktemp("tool") / "square.so")


@pytest.fixture(params=["native", "python"])
def source(request: pytest.FixtureRequest, square: Path) -> Path:
    """The same component by either loader."""
    return square if request.param == "native" else PROGRAMS / "tesseract_api.py"


def test_apply_prints_encoded_arrays(tool: Tool, source: Path) -> None:
    done = tool("apply", source, text=json.dumps(INPUTS))
    assert (done.returncode, done.stderr) == (0, "")
    y = {"buffer": [2.0, 8.0, 18.0], "encoding": "json"}
    expected = {"object_type": "array", "shape": [3], "dtype": "float64", "data": y}
    assert json.loads(done.stdout) == {"y": expected}


def test_apply_reads_what_apply_prints(tool: Tool, square: Path, tmp_path: Path) -> None:
    first = json.loads(tool("apply", square, text=json.dumps(INPUTS)).stdout)
    inputs = tmp_path / "inputs.json"
    inputs.write_text(json.dumps({"x": first["y"]}))
    second = json.loads(tool("apply", square, inputs).stdout)
    assert second["y"]["data"]["buffer"] == [4.0, 64.0, 324.0]


def test_inspect_shows_leaves_endpoints_and_threads(tool: Tool, source: Path) -> None:
    done = tool("inspect", source)
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["x", "float64"] in [line[:2] for line in lines]
    assert ["y", "float64"] in [line[:2] for line in lines]
    named = {line[0] for line in lines if line}
    assert {"apply", "vector_jacobian_product"} <= named or {"apply", "vjp"} <= named
    assert "threads" in named


@pytest.mark.parametrize("devices", [["cpu"], ["cpu", "cuda"]])
def test_inspect_shows_what_is_said_of_devices(
    tool: Tool, tmp_path: Path, devices: list[str]
) -> None:
    library = tmp_path / "listed.so"
    library.touch()
    description = {"devices": devices, "capture_safe": True, "batch": "n"}
    leaf = {"path": "x", "dtype": "float64", "shape": ["n"]}
    listing = json.dumps({**description, "inputs": [leaf]})
    (tmp_path / "listed.so.json").write_text(listing)
    done = tool("inspect", "--listing", library)
    assert done.returncode == 0, done.stderr
    words = [line.split() for line in done.stdout.splitlines()]
    assert ["devices", *", ".join(devices).split()] in words
    assert ["batch", "n"] in words
    of_devices = [["stream_ordered", "true"], ["capture_safe", "true"], ["multi_device", "false"]]
    assert [row in words for row in of_devices] == [len(devices) > 1] * 3


def test_inspect_prints_the_description_as_json(tool: Tool, source: Path) -> None:
    description = json.loads(tool("inspect", source, "--json").stdout)
    assert [leaf["path"] for leaf in description["inputs"]] == ["x", "a"]


def test_inspect_prints_the_openapi_schema(tool: Tool, source: Path) -> None:
    schema = json.loads(tool("inspect", source, "--openapi").stdout)
    assert schema["openapi"].startswith("3.")


def test_check_accepts_right_derivatives(tool: Tool, source: Path) -> None:
    done = tool("check", source, text=json.dumps(INPUTS))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout


def test_check_names_the_input_with_a_wrong_derivative(
    tool: Tool, from_prefix: Installation, tmp_path: Path
) -> None:
    wrong = from_prefix.build_square(tmp_path / "wrong.so", "-DSLOPE=2.001")
    done = tool("check", wrong, text=json.dumps(INPUTS))
    assert done.returncode == 1
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "WRONG" in rows["x"]
    assert "WRONG" not in rows["a"]


def test_check_names_the_inputs_left_to_their_default(tool: Tool, source: Path) -> None:
    done = tool("check", source, text='{"x": [1.0, 2.0]}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not checked: a " in done.stdout
    assert "not checked" not in tool("check", source, text=json.dumps(INPUTS)).stdout


@pytest.mark.parametrize(
    ("refusal", "status", "told"),
    [("inputs.a < 2.0", 0, "agree"), ("inputs.a != 2.0", 1, 'in a finite difference of "a" by ')],
)
def test_check_at_the_edge_of_the_domain(
    tool: Tool, tmp_path: Path, refusal: str, status: int, told: str
) -> None:
    module = tmp_path / "tesseract_api.py"
    text = (PROGRAMS / "tesseract_api.py").read_text()
    text = f"from tesseract_host.runtime import OutOfDomain\n{text}"
    raising = f"if {refusal}:\n        raise OutOfDomain('a')\n    return OutputSchema("
    module.write_text(text.replace("return OutputSchema(", raising))
    done = tool("check", module, text=json.dumps(INPUTS))
    assert done.returncode == status, done.stdout + done.stderr
    assert told in done.stdout
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert float(rows["x"][1]) < 1e-5
    assert (rows["a"][1] == "-") == (status == 1)


def test_check_needs_a_differentiable_array(tool: Tool, square: Path) -> None:
    done = tool("check", square, text='{"a": null}')
    assert done.returncode == 1
    assert done.stderr.startswith("tesseract-host: ")


def test_bench_times_one_shot_and_prepared_calls(tool: Tool, source: Path) -> None:
    done = tool("bench", source, "--seconds", "0.05", text=json.dumps(INPUTS))
    assert done.returncode == 0, done.stderr
    assert "2 tensors in, 1 out" in done.stdout
    assert "one-shot" in done.stdout
    assert "prepared" in done.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"x": [1, 2', "JSON"),
        ("[1, 2]", "object"),
        ('{"x": "no numbers"}', "x"),
        ('{"y": [1.0]}', "y"),
        ("", "x"),
    ],
)
def test_bad_inputs_fail_with_a_message(tool: Tool, square: Path, text: str, told: str) -> None:
    done = tool("apply", square, text=text)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr


def test_missing_source_is_named(tool: Tool, tmp_path: Path) -> None:
    done = tool("inspect", tmp_path / "nowhere.so")
    assert done.returncode == 1
    assert "nowhere.so" in done.stderr


def test_missing_input_file_is_named(tool: Tool, square: Path) -> None:
    done = tool("apply", square, "/nowhere/inputs.json")
    assert done.returncode == 1
    assert "/nowhere/inputs.json" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["inspect"], ["check", "a.so", "--x"]])
def test_wrong_usage_exits_with_2(tool: Tool, arguments: list[str]) -> None:
    assert tool(*arguments).returncode == 2


def test_failing_python_component_shows_its_traceback(tool: Tool, tmp_path: Path) -> None:
    module = tmp_path / "tesseract_api.py"
    text = (PROGRAMS / "tesseract_api.py").read_text()
    module.write_text(text.replace("return OutputSchema(", "return missing_name("))
    done = tool("apply", module, text=json.dumps(INPUTS))
    assert done.returncode == 1
    assert "NameError" in done.stderr
    assert "missing_name" in done.stderr
