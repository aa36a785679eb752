"""``python -m tests.cases``: what it says of what it cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases.__main__ import main

CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize("content", [None, b"\xff", b"no json", b"[1]"])
def test_what_cannot_be_read_is_wrong_usage(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(str(path))
    assert "usage: " in said.err
    assert main([str(tmp_path)]) == 2


def test_no_file_at_all_is_wrong_usage_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--no-such-option"]) == 2
    assert main(["--help"]) == 0
    assert capsys.readouterr().err.count("usage: ") == 3


def test_scenarios_in_words_are_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    path = CASES / "builtins.jsonl"
    ids = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{len(ids)} are scenarios told in words ({ids[0]} to {ids[-1]}), which are not run here: "
        "a test that plays one carries its id in its name",
        "0 passed, 0 failed",
    ]
