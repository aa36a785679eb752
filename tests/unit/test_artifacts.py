"""Files by reference: kept once, found by id, and never half."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolcrib.errors import CallError, TooLargeError, UnknownArtifactError
from toolcrib.storage.artifacts import FileArtifactStore
from toolcrib.storage.media import display_name, media_type

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def store(tmp_path: Path) -> FileArtifactStore:
    return FileArtifactStore(tmp_path / "artifacts")


def files(store: FileArtifactStore) -> list[Path]:
    return sorted(path for path in store._directory.rglob("*") if path.is_file())


async def arriving(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def test_what_is_put_can_be_got_by_its_id(store: FileArtifactStore) -> None:
    artifact = store.put(PNG, name="图.png", mime_type="image/png")

    assert store.get(artifact.id) == artifact
    assert store.read(artifact.id) == PNG
    assert store.path(artifact.id).read_bytes() == PNG
    assert artifact.to_dict() == {
        "id": artifact.id,
        "reference": f"artifact://{artifact.id}",
        "name": "图.png",
        "mime_type": "image/png",
        "size": len(PNG),
        "sha256": hashlib.sha256(PNG).hexdigest(),
        "url": f"/artifacts/{artifact.id}",
    }


def test_another_store_in_the_same_folder_finds_it(store: FileArtifactStore, tmp_path: Path) -> None:
    artifact = store.put(b"kept")
    assert FileArtifactStore(tmp_path / "artifacts").get(artifact.id) == artifact


def test_making_a_store_touches_nothing(tmp_path: Path) -> None:
    FileArtifactStore(tmp_path / "artifacts")
    assert list(tmp_path.iterdir()) == []


def test_the_same_bytes_are_kept_once_under_ids_that_cannot_be_guessed(store: FileArtifactStore) -> None:
    first, second = store.put(PNG, name="a.png"), store.put(PNG, name="b.png")

    assert store.path(first.id) == store.path(second.id)
    assert len([path for path in files(store) if "objects" in path.parts]) == 1
    assert first.id != second.id
    assert first.sha256[:32] not in first.id
    assert [store.get(each.id).name for each in (first, second)] == ["a.png", "b.png"]


def test_E055_one_name_twice_is_two_files(store: FileArtifactStore) -> None:
    first, second = store.put(b"one", name="a.txt"), store.put(b"two", name="a.txt")
    assert [store.read(each.id) for each in (first, second)] == [b"one", b"two"]
    assert first.name == second.name == "a.txt"


async def test_a_stream_is_kept_like_bytes(store: FileArtifactStore) -> None:
    streamed = await store.put_stream(arriving(PNG[:10], b"", PNG[10:] + b"x" * 3_000_000), name="a.png")

    assert store.read(streamed.id) == PNG + b"x" * 3_000_000
    assert streamed.mime_type == "image/png"
    assert store.put(PNG + b"x" * 3_000_000).sha256 == streamed.sha256


async def test_nothing_is_left_of_a_stream_that_breaks_off(store: FileArtifactStore) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await store.put_stream(broken())
    assert files(store) == []


async def test_what_is_over_the_limit_is_refused_and_not_kept(tmp_path: Path) -> None:
    store = FileArtifactStore(tmp_path, limit=10)
    assert store.put(b"x" * 10).size == 10
    kept = files(store)
    with pytest.raises(TooLargeError, match="more than 10 bytes"):
        store.put(b"y" * 11)
    with pytest.raises(TooLargeError):
        await store.put_stream(arriving(b"y" * 6, b"y" * 6))
    assert files(store) == kept


def test_an_empty_file_is_a_file(store: FileArtifactStore) -> None:
    artifact = store.put(b"", name="empty.txt")
    assert (artifact.size, store.read(artifact.id)) == (0, b"")


@pytest.mark.parametrize(
    "artifact_id",
    [
        "",
        "art_",
        "art_" + "0" * 32,
        "art_" + "0" * 32 + "\n",
        "../../etc/passwd",
        "art_../../../../x",
        "ART_" + "0" * 32,
    ],
)
def test_an_id_that_is_none_is_unknown(store: FileArtifactStore, artifact_id: str) -> None:
    for ask in (store.get, store.path, store.read):
        with pytest.raises(UnknownArtifactError) as caught:
            ask(artifact_id)
        assert caught.value.code == "unknown_artifact"
        assert caught.value.hint


def test_an_artifact_whose_bytes_are_gone_is_unknown(store: FileArtifactStore) -> None:
    artifact = store.put(b"here")
    store.path(artifact.id).unlink()
    with pytest.raises(UnknownArtifactError):
        store.path(artifact.id)


def test_a_spoiled_record_is_a_clear_error(store: FileArtifactStore) -> None:
    artifact = store.put(b"here")
    record = store._record(artifact.id)
    record.chmod(0o600)
    record.write_text("{")
    with pytest.raises(CallError, match="cannot be read"):
        store.get(artifact.id)


def test_bytes_that_were_cut_off_on_disk_are_written_again(store: FileArtifactStore) -> None:
    path = store.path(store.put(b"whole").id)
    path.chmod(0o600)
    path.write_bytes(b"who")
    assert store.read(store.put(b"whole").id) == b"whole"


def test_only_the_owner_can_read_and_nobody_can_write(store: FileArtifactStore) -> None:
    artifact = store.put(b"mine")
    assert stat.S_IMODE(store.path(artifact.id).stat().st_mode) == 0o400
    assert stat.S_IMODE(store.path(artifact.id).parent.stat().st_mode) & 0o077 == 0


def test_a_full_disk_is_a_clear_error_and_leaves_nothing(
    store: FileArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CallError, match="No space left") as caught:
        store.put(b"x" * 100)
    assert caught.value.code == "storage_full"
    assert "TOOLCRIB_HOME" in str(caught.value.hint)
    assert files(store) == []


async def test_a_home_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("not a folder")
    store = FileArtifactStore(home / "artifacts")
    with pytest.raises(CallError) as caught:
        store.put(b"x")
    assert caught.value.code == "storage_error"
    with pytest.raises(CallError):
        await store.put_stream(arriving(b"x"))


@pytest.mark.parametrize(
    ("content", "declared", "name", "kind"),
    [
        (PNG, None, None, "image/png"),
        (PNG, "image/jpeg", "x.jpg", "image/png"),
        (b"\xff\xd8\xff\xe0rest", "text/html", None, "image/jpeg"),
        (b"GIF89a....", None, None, "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", None, None, "image/webp"),
        (b"%PDF-1.7\n", None, None, "application/pdf"),
        (b"PK\x03\x04rest", None, None, "application/zip"),
        (
            b"PK\x03\x04rest",
            None,
            "talk.pptx",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ),
        (b"PK\x03\x04rest", "image/png", None, "application/zip"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"></svg>', None, None, "image/svg+xml"),
        (b'<?xml version="1.0"?><svg/>', None, None, "image/svg+xml"),
        (b'<?xml version="1.0"?><note/>', None, None, "application/xml"),
        (b'{"a": 1}', "text/plain", None, "application/json"),
        (b"[1, 2", None, None, "text/plain"),
        ("日本語".encode(), None, None, "text/plain"),
        ("日本語".encode("utf-16"), None, None, "application/octet-stream"),
        (b"a,b\n1,2", "text/csv", None, "text/csv"),
        (b"# heading", None, "notes.md", "text/markdown"),
        (b"plain", "image/png", None, "text/plain"),
        (b"plain", "not a type", None, "text/plain"),
        (b"\x00\x01\x02", None, None, "application/octet-stream"),
        (b"\x00\x01\x02", "audio/mpeg; x=1", None, "audio/mpeg"),
        (b"\x00\x01\x02", "image/png", None, "application/octet-stream"),
        (b"\x00\x01\x02", "text/html", "x.html", "application/octet-stream"),
        (b"", None, None, "text/plain"),
    ],
)
def test_the_bytes_say_what_a_file_is_and_words_only_refine_it(
    content: bytes, declared: str | None, name: str | None, kind: str
) -> None:
    assert media_type(content, whole=True, declared=declared, name=name) == kind


def test_a_text_cut_inside_a_character_is_still_a_text() -> None:
    assert media_type("é".encode()[:1], whole=False) == "text/plain"
    assert media_type("aé".encode()[:2], whole=True) == "application/octet-stream"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("../../etc/cron.d/x", ".._.._etc_cron.d_x", id="E045"),
        pytest.param("a\x00.png", "a.png", id="E047"),
        pytest.param(".", "file.png", id="E049"),
        pytest.param("\u202egnp.exe", "gnp.exe", id="E051"),
        pytest.param("-rf", "-rf", id="E053"),
        ("..", "file.png"),
        ("", "file.png"),
        (None, "file.png"),
        ("C:\\Users\\me\\a.png", "C:_Users_me_a.png"),
        ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
        ("报告 2024/05.pdf", "报告 2024_05.pdf"),
        ("👨‍👩‍👧.png", "👨‍👩‍👧.png"),
        ("\udcff.bin", ".bin"),
    ],
)
def test_a_name_is_shown_without_what_could_mislead(name: str | None, shown: str) -> None:
    assert display_name(name, "image/png") == shown


def test_a_long_name_keeps_its_extension() -> None:
    shown = display_name("图" * 300 + ".png", "image/png")
    assert shown.endswith("图.png")
    assert len(shown.encode()) <= 200
    assert unicodedata.is_normalized("NFC", shown)


async def test_an_upload_that_is_cancelled_leaves_nothing(store: FileArtifactStore) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield PNG
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(store.put_stream(endless()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files(store) == []


def test_what_a_killed_process_left_half_written_is_removed_a_day_later(store: FileArtifactStore) -> None:
    store.put(PNG)
    incoming = store._directory / "incoming"
    for name in ("old", "new"):
        (incoming / name).write_bytes(b"half")
    os.utime(incoming / "old", (0, 0))
    FileArtifactStore(store._directory).put(b"another")
    assert [path.name for path in incoming.iterdir()] == ["new"]
