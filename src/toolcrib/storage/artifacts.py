"""Files kept by content, in a folder."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from toolcrib.definition.artifact import Artifact
from toolcrib.errors import CallError, TooLargeError, UnknownArtifactError
from toolcrib.storage.media import display_name, media_type

DEFAULT_LIMIT = 1024 * 1024 * 1024
_BLOCK = 1024 * 1024
_HEAD = 64 * 1024
_ABANDONED = 24 * 3600
_ID = re.compile(r"art_[0-9a-f]{32}")


class FileArtifactStore:
    """An `ArtifactStore` in a folder (contract M05).

    ::

        objects/9f/9f86d0…        the content, named by its SHA-256, so the same bytes are kept once
        artifacts/4b/art_4b7c….json   one small file for each artifact: its name, type, size and SHA-256
        incoming/                 what is being written; a file moves out of it whole or not at all

    Ids are random, so knowing a file does not tell its artifact. Nothing touches the disk before the first `put`.

    Args:
        directory: the folder; made when first needed, readable by its owner only.
        limit: bytes one artifact may have.

    Example:
        >>> store = FileArtifactStore(Path(tempfile.mkdtemp()))
        >>> artifact = store.put(b"hello", name="greeting.txt")
        >>> artifact.mime_type, store.path(artifact.id).read_bytes()
        ('text/plain', b'hello')
    """

    def __init__(self, directory: Path, *, limit: int = DEFAULT_LIMIT) -> None:
        self._directory = directory
        self._limit = limit
        self._has_tidied = False

    def put(self, content: bytes, *, name: str | None = None, mime_type: str | None = None) -> Artifact:
        """Keep ``content`` and return its reference.

        Args:
            content: the bytes.
            name: for display; cleaned of what could mislead or harm.
            mime_type: what the giver calls it; believed where the bytes do not say otherwise.

        Raises:
            TooLargeError: it has more bytes than the limit.
            CallError: it cannot be written; ``storage_full`` or ``storage_error``.
        """
        self._check_size(len(content))
        self._tidy()
        with _Incoming(self._directory) as incoming:
            incoming.write(content)
            return self._keep(incoming, name, mime_type)

    async def put_stream(
        self, chunks: AsyncIterator[bytes], *, name: str | None = None, mime_type: str | None = None
    ) -> Artifact:
        """Keep what arrives in chunks, without holding it in memory.

        Raises:
            TooLargeError: more bytes arrive than the limit; nothing is kept.
            CallError: it cannot be written; ``storage_full`` or ``storage_error``.
        """
        await asyncio.to_thread(self._tidy)
        # Opened here and not in a thread: a file that appeared after a cancellation would stay.
        with _Incoming(self._directory) as incoming:
            pending = bytearray()
            async for chunk in chunks:
                pending += chunk
                self._check_size(incoming.size + len(pending))
                if len(pending) >= _BLOCK:
                    await asyncio.to_thread(incoming.write, bytes(pending))
                    pending.clear()
            await asyncio.to_thread(incoming.write, bytes(pending))
            return await asyncio.to_thread(self._keep, incoming, name, mime_type)

    def get(self, artifact_id: str) -> Artifact:
        """The artifact of that id.

        Raises:
            UnknownArtifactError: there is none.
        """
        if not _ID.fullmatch(artifact_id):
            raise _unknown(artifact_id)
        try:
            facts = json.loads(self._record(artifact_id).read_bytes())
            artifact = Artifact(**facts)
        except FileNotFoundError:
            raise _unknown(artifact_id) from None
        except (OSError, ValueError, TypeError) as error:
            raise CallError(
                f"The artifact {artifact_id} cannot be read: {error}",
                code="storage_error",
                hint=f"Look at {self._record(artifact_id)}.",
            ) from error
        return artifact

    def path(self, artifact_id: str) -> Path:
        """Where its bytes lie, read-only.

        Raises:
            UnknownArtifactError: there is no such artifact, or its bytes are gone.
        """
        path = self._object(self.get(artifact_id).sha256)
        if not path.is_file():
            raise _unknown(artifact_id)
        return path

    def read(self, artifact_id: str) -> bytes:
        """Its bytes.

        Raises:
            UnknownArtifactError: there is no such artifact.
        """
        return self.path(artifact_id).read_bytes()

    def _keep(self, incoming: _Incoming, name: str | None, mime_type: str | None) -> Artifact:
        head = bytes(incoming.head)
        kind = media_type(head, whole=incoming.size == len(head), declared=mime_type, name=name)
        artifact = Artifact(
            id=f"art_{secrets.token_hex(16)}",
            name=display_name(name, kind),
            mime_type=kind,
            size=incoming.size,
            sha256=incoming.digest.hexdigest(),
        )
        incoming.move_to(self._object(artifact.sha256))
        facts = {field: getattr(artifact, field) for field in ("id", "name", "mime_type", "size", "sha256")}
        with _Incoming(self._directory) as record:
            record.write(json.dumps(facts, ensure_ascii=False).encode())
            record.move_to(self._record(artifact.id))
        return artifact

    def _tidy(self) -> None:
        """Remove, once, what processes that were killed left half written."""
        if self._has_tidied:
            return
        self._has_tidied = True
        with suppress(OSError):
            for path in (self._directory / "incoming").iterdir():
                if path.stat().st_mtime < time.time() - _ABANDONED:
                    path.unlink(missing_ok=True)

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise TooLargeError(
                f"The file has more than {self._limit} bytes", hint="Send a smaller file, or raise the limit."
            )

    def _object(self, sha256: str) -> Path:
        return self._directory / "objects" / sha256[:2] / sha256

    def _record(self, artifact_id: str) -> Path:
        return self._directory / "artifacts" / artifact_id[4:6] / f"{artifact_id}.json"


class _Incoming:
    """A file being written; it is gone on leaving unless it was moved to its place."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: IO[bytes] | None = None
        self._path: Path | None = None
        self.size = 0
        self.head = bytearray()
        self.digest = hashlib.sha256()

    def __enter__(self) -> _Incoming:
        with _storage_errors(self._directory):
            folder = self._directory / "incoming"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, path = tempfile.mkstemp(dir=folder)
            self._path = Path(path)
            self._file = os.fdopen(descriptor, "wb")
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def write(self, content: bytes) -> None:
        assert self._file is not None
        with _storage_errors(self._directory):
            self._file.write(content)
        self.size += len(content)
        self.digest.update(content)
        if len(self.head) < _HEAD:
            self.head += content[: _HEAD - len(self.head)]

    def move_to(self, place: Path) -> None:
        """Put the whole file at ``place``, where equal bytes may lie already."""
        assert self._file is not None
        assert self._path is not None
        with _storage_errors(self._directory):
            if place.is_file() and place.stat().st_size == self.size:
                return
            self._file.flush()
            os.fchmod(self._file.fileno(), 0o400)
            os.fsync(self._file.fileno())
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.replace(place)
            self._path = None


@contextmanager
def _storage_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CallError(
                f"The file cannot be kept in {directory}: {reason}",
                code="storage_full",
                hint="Free some space there, or point TOOLCRIB_HOME to another disk.",
            ) from error
        raise CallError(
            f"The file cannot be kept in {directory}: {reason}",
            code="storage_error",
            hint="Make that folder writable, or point TOOLCRIB_HOME elsewhere.",
        ) from error


def _unknown(artifact_id: str) -> UnknownArtifactError:
    return UnknownArtifactError(
        f"Artifact not found: {artifact_id[:80]}", hint="POST /artifacts keeps a file and answers its id."
    )
