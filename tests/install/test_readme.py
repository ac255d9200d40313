"""The README's example, extracted, compiled and run as the README says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from installation import ROOT, Installation, run


@pytest.fixture(scope="module")
def blocks() -> list[tuple[str, str]]:
    """The fenced blocks of the README: language and text."""
    text = (ROOT / "README.md").read_text()
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_example_prints_what_the_readme_shows(
    blocks: list[tuple[str, str]], installation: Installation, tmp_path: Path
) -> None:
    code = next(text for language, text in blocks if language == "c")
    shown = next(text for language, text in blocks if language == "console")
    command, _, output = shown.partition("\n")
    assert command.endswith("-o drag && ./drag")

    (tmp_path / "drag.c").write_text(code)
    folder = Path("examples/tesseract-api-module")
    shutil.copytree(ROOT / folder, tmp_path / folder)
    flags = installation.config("--cflags", "--libs")
    run("cc", "-Wall", "-Wextra", "-Werror", "drag.c", *flags, "-o", "drag", cwd=tmp_path)
    assert run("./drag", cwd=tmp_path, **installation.variables) == output


def test_readme_fits_a_screen_and_its_links_exist() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 84
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" not in target:
            assert (ROOT / target).exists(), target
