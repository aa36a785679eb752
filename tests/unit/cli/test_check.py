"""What `toolcrib check` says before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.definition.tool import Texts, ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.validation.manifest import check_header, check_manifest

HEADER = '# /// script\n# requires-python = ">=3.11"\n# dependencies = [{}]\n# ///\n'


@pytest.mark.parametrize(
    ("source", "level", "said"),
    [
        (HEADER.format(""), "pass", "standard library"),
        ('"""Words before."""\n' + HEADER.format('"pillow==13.0.0"'), "pass", "1 package, pinned"),
        (HEADER.format('"a==1", "b @ file:///b.whl"'), "pass", "2 packages"),
        (HEADER.format('"pillow>=13", "x==1"'), "warn", "pillow>=13"),
        ("print(1)\n", "fail", "# /// script"),
        (HEADER.format('"unclosed'), "fail", "not valid TOML"),
        ("# /// script\n# dependencies = []\n", "fail", "# /// script"),
    ],
)
def test_T036_the_header_says_what_the_tool_needs(tmp_path: Path, source: str, level: str, said: str) -> None:
    (tmp_path / "main.py").write_text(source, encoding="utf-8")
    finding = check_header(tmp_path)
    assert (finding.level, said in finding.reason) == (level, True), finding


def test_a_folder_may_have_its_own_pyproject_instead(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print(1)\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert check_header(tmp_path).level == "pass"


def test_a_folder_without_a_program_fails(tmp_path: Path) -> None:
    finding = check_header(tmp_path)
    assert finding.level == "fail"
    assert "main.py" in finding.reason


def test_a_manifest_that_is_right_passes_with_one_line() -> None:
    tool = ToolDefinition(
        "a", "A.", {"type": "object"}, output_schema={"type": "object"}, translations=words("zh", "en")
    )
    (finding,) = check_manifest(tool, [])
    assert finding.level == "pass"


def test_what_somebody_will_stumble_over_is_a_warning() -> None:
    tool = ToolDefinition("a.b", "A.", {"type": "object"}, translations=words("en"))
    findings = {finding.check: finding for finding in check_manifest(tool, [])}
    assert {check for check, finding in findings.items() if finding.level == "warn"} == {
        "name",
        "languages",
        "output_schema",
    }
    assert "zh" in findings["languages"].reason


def test_every_problem_is_a_failure_with_its_place_and_hint() -> None:
    problems = [
        SourceError("wrong", path="tool.toml", line=3, hint="Do this."),
        SourceError("missing", path="tool.toml"),
    ]
    findings = list(check_manifest(None, problems))
    assert [(finding.level, finding.reason) for finding in findings] == [
        ("fail", "tool.toml:3: wrong (Do this.)"),
        ("fail", "tool.toml: missing"),
    ]


def test_a_folder_that_defines_nothing_fails() -> None:
    (finding,) = check_manifest(None, [])
    assert finding.level == "fail"


def words(*languages: str) -> dict[str, Texts]:
    return {language: Texts("A", "Does a.") for language in languages}
