"""Logs: bounded, rotated, readable where the document says they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.runtime.logs import FILE_SIZE, FILES, TAIL_SIZE, ToolLog, file_name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tool's folder."""
    (tmp_path / "tool").mkdir()
    return tmp_path / "tool"


def test_T028_the_first_line_of_a_run_is_the_documented_command(tmp_path: Path, folder: Path) -> None:
    log = ToolLog(tmp_path / "logs", "image_stitcher", folder)
    log.begin("uv run main.py --port 8002")
    log.write(b"hello\n")
    log.close()
    last_run = folder / "tests" / "last_run.log"
    assert last_run.read_text().startswith("$ uv run main.py --port 8002  # 20")
    assert last_run.read_text().endswith("hello\n")
    assert log.path.read_bytes() == last_run.read_bytes()
    assert log.shown == last_run


def test_T028_the_last_run_shows_only_the_last_run_and_the_log_shows_all(tmp_path: Path, folder: Path) -> None:
    log = ToolLog(tmp_path / "logs", "x", folder)
    for run in ("first", "second"):
        log.begin("uv run main.py --port 8002")
        log.write(f"{run}\n".encode())
        log.close()
    assert "first" not in (folder / "tests" / "last_run.log").read_text()
    assert [line for line in log.lines(100) if not line.startswith("$")] == ["first", "second"]
    assert log.lines(1) == ["second"]
    assert log.lines(0) == []


def test_T028_where_the_tools_folder_cannot_be_written_the_state_folder_has_the_log(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "tests").write_text("not a folder")
    log = ToolLog(tmp_path / "logs", "x", folder)
    log.begin("uv run main.py --port 8002")
    log.write(b"hello\n")
    log.close()
    assert log.shown == log.path
    assert log.lines(1) == ["hello"]


def test_T028_a_log_that_cannot_be_kept_at_all_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("not a folder")
    log = ToolLog(tmp_path / "logs", "x")
    log.begin("uv run main.py --port 8002")
    log.write(b"hello\n")
    assert log.tail(1) == ["hello"]
    log.close()
    assert log.lines(10) == []


def test_T028_no_link_is_followed_when_the_last_run_is_written(tmp_path: Path, folder: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    (folder / "tests").mkdir()
    (folder / "tests" / "last_run.log").symlink_to(target)
    log = ToolLog(tmp_path / "logs", "x", folder)
    log.begin("uv run main.py --port 8002")
    log.close()
    assert target.read_text() == "precious"
    assert not (folder / "tests" / "last_run.log").is_symlink()


def test_T028_a_flood_without_line_breaks_is_bounded_everywhere(tmp_path: Path, folder: Path) -> None:
    log = ToolLog(tmp_path / "logs", "x", folder)
    log.begin("uv run main.py --port 8002")
    for _ in range(160):
        log.write(b"x" * 65536)
    log.write(b"the end\n")
    kept = sorted(path.name for path in log.path.parent.iterdir())
    assert kept == ["x.log", *(f"x.log.{number}" for number in range(1, FILES))]
    assert all(path.stat().st_size <= FILE_SIZE for path in log.path.parent.iterdir())
    assert (folder / "tests" / "last_run.log").stat().st_size <= FILE_SIZE + 200
    assert len("".join(log.tail(100))) <= TAIL_SIZE
    assert log.tail(1)[0].endswith("the end")
    log.close()
    assert len(log.lines(5)) <= 5


def test_T028_secrets_are_not_written_even_in_pieces(tmp_path: Path) -> None:
    log = ToolLog(tmp_path / "logs", "x")
    log.begin("uv run main.py --port 8002", secrets=["s3cret-value"])
    log.write(b"key=s3cr")
    log.write(b"et-value, again s3cret-value; half s3cret")
    log.write(b"-but not the value\n")
    log.close()
    text = log.path.read_text()
    assert "s3cret-value" not in text
    assert text.endswith("key=***, again ***; half s3cret-but not the value\n")


@pytest.mark.parametrize(
    ("tool_id", "name"),
    [("image_stitcher", "image_stitcher"), ("a/b", "a%2Fb"), ("..", "%2E."), (".hidden", "%2Ehidden")],
)
def test_a_tools_id_is_always_one_files_name(tool_id: str, name: str) -> None:
    assert file_name(tool_id) == name
