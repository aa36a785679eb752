"""What a tool's processes write, kept within bounds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

FILES = 5
FILE_SIZE = 1024 * 1024
TAIL_SIZE = 16 * 1024
MASK = b"***"


class ToolLog:
    """One tool's log: five files of 1 MiB at most, and ``tests/last_run.log`` with the last run (contract T028).

    Nothing here raises for a disk that is full or read-only: a tool must not fail because its log cannot be kept.

    Args:
        folder: where the log lives, ``TOOLCRIB_HOME/logs``.
        tool_id: whose log it is.
        tool_folder: the tool's own folder; None = no ``tests/last_run.log``.

    Attributes:
        path: the log.
    """

    def __init__(self, folder: Path, tool_id: str, tool_folder: Path | None = None) -> None:
        self.path = folder / f"{file_name(tool_id)}.log"
        self._last_run_path = tool_folder / "tests" / "last_run.log" if tool_folder is not None else None
        self._file: int | None = None
        self._size = 0
        self._last_run: int | None = None
        self._last_run_size = 0
        self._has_last_run = False
        self._tail = bytearray()
        self._secrets: tuple[bytes, ...] = ()
        self._held = b""
        self._first_line = b""

    @property
    def shown(self) -> Path:
        """The file to show a person: ``tests/last_run.log`` where it could be written, else `path`."""
        path = self._last_run_path
        return path if path is not None and self._has_last_run else self.path

    def begin(self, command: str, *, secrets: Sequence[str] = ()) -> None:
        """Begin a run.

        Args:
            command: what a person would type, the first line.
            secrets: values never to be written.
        """
        self.close()
        self._tail.clear()
        self._secrets = tuple(sorted((value.encode() for value in secrets if value), key=len, reverse=True))
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._size = os.fstat(self._file).st_size
        self._begin_last_run()
        now = datetime.now().astimezone()
        self._first_line = f"$ {command}  # {now.isoformat(timespec='seconds')}\n".encode()
        self._keep(self._first_line)

    def _begin_last_run(self) -> None:
        path = self._last_run_path
        self._has_last_run = False
        if path is None:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            # A new file, so that whoever reads the one of the run before goes on reading it, and no link is followed.
            path.unlink(missing_ok=True)
            self._last_run = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            self._last_run_size = 0
            self._has_last_run = True

    def write(self, chunk: bytes) -> None:
        """Add what a process wrote."""
        if self._secrets:
            chunk = self._redact(self._held + chunk)
        self._keep(chunk)

    def note(self, text: str) -> None:
        """Add a line of toolcrib's own."""
        start = b"" if not self._tail or self._tail.endswith(b"\n") else b"\n"
        self._keep(start + f"[toolcrib] {text}\n".encode())

    def tail(self, lines: int = 15) -> list[str]:
        """The last lines of this run."""
        return _last_lines(bytes(self._tail + self._held), lines)

    def lines(self, count: int) -> list[str]:
        """The last lines of all runs that are kept, the oldest first."""
        kept: list[str] = []
        for path in (self.path, *(self._numbered(number) for number in range(1, FILES))):
            try:
                content = path.read_bytes()
            except OSError:
                break
            kept = _last_lines(content, count - len(kept)) + kept
            if len(kept) >= count:
                break
        return kept

    def close(self) -> None:
        """End the run and close the files."""
        if self._held:
            held, self._held = self._held, b""
            self._keep(held)
        for descriptor in (self._file, self._last_run):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._last_run = None

    def _redact(self, text: bytes) -> bytes:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        # What may be the beginning of a secret waits for the next chunk.
        held = max((_overlap(text, secret) for secret in self._secrets), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def _keep(self, chunk: bytes) -> None:
        self._tail += chunk[-TAIL_SIZE:]
        if len(self._tail) > TAIL_SIZE:
            del self._tail[:-TAIL_SIZE]
        with contextlib.suppress(OSError):
            if self._file is not None:
                if self._size + len(chunk) > FILE_SIZE:
                    self._rotate()
                os.write(self._file, chunk)
                self._size += len(chunk)
        with contextlib.suppress(OSError):
            if self._last_run is not None:
                if self._last_run_size + len(chunk) > FILE_SIZE:
                    os.ftruncate(self._last_run, 0)
                    os.lseek(self._last_run, 0, os.SEEK_SET)
                    cut = f"[toolcrib] what came here first is in {self.path}\n".encode()
                    chunk = self._first_line + cut + chunk
                    self._last_run_size = 0
                os.write(self._last_run, chunk)
                self._last_run_size += len(chunk)

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _rotate(self) -> None:
        assert self._file is not None
        for number in range(FILES - 2, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))
        self.path.replace(self._numbered(1))
        os.close(self._file)
        self._file = None
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0


def where_its_log_is(tool_id: str) -> str:
    """How a person or a program gets to see a tool's log, as the end of a hint."""
    return f"Its log: toolcrib logs {tool_id}, GET /tools/{tool_id}/logs"


def file_name(tool_id: str) -> str:
    """A tool's id as the name of a file: ids may contain ``/`` and be ``..``."""
    quoted = quote(tool_id, safe="")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


def _overlap(text: bytes, secret: bytes) -> int:
    """The length of the longest end of ``text`` that ``secret`` begins with."""
    return next((size for size in range(min(len(text), len(secret) - 1), 0, -1) if secret.startswith(text[-size:])), 0)


def _last_lines(content: bytes, count: int) -> list[str]:
    return content.decode("utf-8", "replace").splitlines()[-count:] if count > 0 else []
