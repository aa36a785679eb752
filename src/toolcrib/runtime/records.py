"""What a router leaves on disk about its processes, so that the next one can put things in order."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from toolcrib.errors import HomeInUseError, ServiceError
from toolcrib.runtime.guard import start_time
from toolcrib.runtime.process import group_members

TOKEN_VARIABLE = "TOOLCRIB_INSTANCE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
_TOKEN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One process of one tool.

    Attributes:
        tool_id: whose process it is.
        pid: its process id, which is also its group's.
        start_time: when it began, in the system's own count (see `guard.start_time`).
        boot_id: of the system, so that a record from before a restart means nothing.
        port: where it answers.
        token: what was put into its environment to know it by.
    """

    tool_id: str
    pid: int
    start_time: str
    boot_id: str
    port: int
    token: str

    @classmethod
    def parse(cls, content: bytes) -> ProcessRecord:
        """The record that a file holds.

        Raises:
            ValueError: it holds none: to signal "process" 0 or -1 would be to signal ourselves or everybody.
        """
        facts = json.loads(content)
        if not isinstance(facts, dict) or facts.keys() != cls.__annotations__.keys():
            raise ValueError("not a process record")
        texts = [facts[name] for name in ("tool_id", "start_time", "boot_id", "token")]
        if not all(isinstance(text, str) for text in texts) or not _TOKEN.fullmatch(facts["token"]):
            raise ValueError("not a process record")
        if type(facts["pid"]) is not int or facts["pid"] <= 1 or type(facts["port"]) is not int:
            raise ValueError("not a process record")
        return cls(**facts)

    def is_alive(self) -> bool:
        """Whether the process or what it left behind in its group still exists; the file alone proves nothing."""
        if self.boot_id != boot_id():
            return False
        began = start_time(self.pid)
        if began is None:
            return any(token_of(pid) == self.token for pid in group_members(self.pid))
        if began != self.start_time:
            return False
        try:
            return os.getpgid(self.pid) == self.pid and token_of(self.pid) in (self.token, None)
        except OSError:
            return False


class ProcessRecords:
    """The records of a router's own processes, a small file each.

    Args:
        folder: where they lie, ``TOOLCRIB_HOME/run/processes``, and nothing else does.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, record: ProcessRecord) -> None:
        """Keep a record, in one step."""
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=self._folder, prefix=".")
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(asdict(record), file)
            Path(temporary).replace(self._path(record))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def remove(self, record: ProcessRecord) -> None:
        """Forget a process."""
        with contextlib.suppress(OSError):
            self._path(record).unlink(missing_ok=True)

    def read_all(self) -> list[ProcessRecord]:
        """The records that an earlier router left; files that hold none are removed."""
        records: list[ProcessRecord] = []
        for path in [*self._folder.glob("*.json"), *self._folder.glob(".*")]:
            try:
                record = ProcessRecord.parse(path.read_bytes())
            except (OSError, ValueError):
                record = None
            if record is not None and path == self._path(record):
                records.append(record)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()
        return records

    def _path(self, record: ProcessRecord) -> Path:
        # Not by the tool's id: two processes of one tool may live for a moment.
        return self._folder / f"{record.token}.json"


class HomeLock:
    """Makes sure that one service works in a TOOLCRIB_HOME; freed by the system when the process ends.

    Args:
        folder: where the lock lies, ``TOOLCRIB_HOME/run``.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            HomeInUseError: another process has it; the text names its pid.
            ServiceError: the folder cannot be written.
        """
        import fcntl

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ServiceError(
                f"{self._path.parent} cannot be written: {error.strerror}",
                hint="Set TOOLCRIB_HOME to a folder that this user may write.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise HomeInUseError(
                f"Another toolcrib service (pid {holder}) works in {self._path.parent.parent}",
                hint="End it, or set TOOLCRIB_HOME to another folder for this one.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def boot_id() -> str:
    """A word that changes with every start of the system; empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def token_of(pid: int) -> str | None:
    """The instance token in a process's environment; None where there is none or it may not be read."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        return psutil.Process(pid).environ().get(TOKEN_VARIABLE)
    return None
