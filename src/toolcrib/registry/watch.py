"""Notices that files of tools have changed, while the service runs (contract T015)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

from toolcrib.registry.sources.folder import IGNORED_DIRECTORIES

logger = logging.getLogger(__name__)

_IGNORED_FILES = frozenset({"last_run.log"})
_IGNORED_SUFFIXES = (".pyc", ".lock", ".swp", "~")
_POLL = 2.0
_STEP = 100  # milliseconds without a further change after which a burst is over
_LONGEST_BURST = 1600

Stamp = tuple[int, int, int]


async def watch(
    source_paths: Callable[[], Iterable[Path]],
    on_change: Callable[[], Awaitable[None]],
    stop: asyncio.Event,
    *,
    watching: asyncio.Event | None = None,
) -> None:
    """Await ``on_change`` after every burst of changes in files of tools, until ``stop`` is set.

    Folders are watched with everything below them, except what tools and environments write themselves (logs, byte
    code, ``.venv``). Files and folders that do not exist yet are noticed when they appear. Where the system cannot
    notify, the files are looked at every two seconds. An error of ``on_change`` is logged, and watching goes on.

    Args:
        source_paths: the files and folders to watch; asked again after every change.
        on_change: reads the files again; changes that happen meanwhile lead to another call.
        stop: ends the watching, within a fraction of a second.
        watching: set as soon as no change can be missed any more.
    """
    seen: dict[Path, Stamp] | None = None
    warned = False
    while not stop.is_set():
        sources = [path.absolute() for path in source_paths()]
        directories = await asyncio.to_thread(_directories, sources)
        async with _notified(directories, sources, stop) as wait:
            now = await asyncio.to_thread(_stamps, sources)
            if await asyncio.to_thread(_directories, sources) != directories:
                continue
            missed = seen is not None and now != seen
            seen = now if seen is None else seen
            if watching is not None:
                watching.set()
            failure = None if missed else await wait()
            if stop.is_set():
                return
        if failure is not None:
            if not warned and not isinstance(failure, FileNotFoundError):
                logger.warning("The system does not notify of changed files (%s); looking every %g s", failure, _POLL)
                warned = True
            await _pause(stop, 0.0 if isinstance(failure, FileNotFoundError) else _POLL)
        # What on_change will read is at least as new as these stamps: whatever comes later is seen as a change.
        before, seen = seen, await asyncio.to_thread(_stamps, sources)
        if failure is not None and before == seen:
            continue
        try:
            await on_change()
        except Exception:
            logger.exception("Reading the changed files of tools failed")


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


@contextlib.asynccontextmanager
async def _notified(
    directories: set[Path], sources: list[Path], stop: asyncio.Event
) -> AsyncIterator[Callable[[], Awaitable[BaseException | None]]]:
    """Watching has begun when the block is entered; the function it gives waits for a change or for ``stop``,
    and returns why the system cannot notify, if so.
    """
    from watchfiles import awatch

    ended = asyncio.Event()  # of our own: watchfiles sets it when it is cancelled
    changes = awatch(
        *directories,
        watch_filter=lambda _, path: _concerns(Path(path), sources),
        debounce=_LONGEST_BURST,
        step=_STEP,
        stop_event=ended,
        recursive=False,
        ignore_permission_denied=True,
    )
    first = asyncio.ensure_future(anext(changes, None))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.sleep(0)  # its first step sets up the notification

    async def wait() -> BaseException | None:
        await asyncio.wait({first, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return first.exception() if first.done() else None

    try:
        yield wait
    finally:
        ended.set()
        stopped.cancel()
        await asyncio.gather(first, stopped, return_exceptions=True)
        await changes.aclose()


def _directories(sources: list[Path]) -> set[Path]:
    """Every directory in which a change may concern ``sources``."""
    found: set[Path] = set()
    for source in sources:
        found.add(_nearest_directory(source.parent))
        if source.is_dir():
            found.update(directory for directory, _ in _walk(source))
    return found


def _nearest_directory(path: Path) -> Path:
    while not path.is_dir():
        path = path.parent
    return path


def _walk(root: Path) -> Iterable[tuple[Path, list[str]]]:
    """Directories below ``root`` with the names of their files; a tool's folder may be a link to another place."""
    visited: set[str] = set()
    for directory, directories, names in os.walk(root, followlinks=True):
        real = os.path.realpath(directory)
        if real in visited:
            directories.clear()
            continue
        visited.add(real)
        directories[:] = [name for name in directories if name not in IGNORED_DIRECTORIES]
        yield Path(directory), names


def _concerns(path: Path, sources: list[Path]) -> bool:
    if _is_ignored(path.name):
        return False
    return any(path == source or path in source.parents or _is_within(path, source) for source in sources)


def _is_within(path: Path, source: Path) -> bool:
    return source in path.parents and IGNORED_DIRECTORIES.isdisjoint(path.relative_to(source).parts)


def _is_ignored(name: str) -> bool:
    return name in _IGNORED_FILES or name in IGNORED_DIRECTORIES or name.endswith(_IGNORED_SUFFIXES)


def _stamps(sources: list[Path]) -> dict[Path, Stamp]:
    """What tells one state of the files from another."""
    stamps: dict[Path, Stamp] = {}
    for source in sources:
        files: Iterable[Path] = (source,)
        if source.is_dir():
            files = (directory / name for directory, names in _walk(source) for name in names if not _is_ignored(name))
        for file in files:
            with contextlib.suppress(OSError):
                status = file.stat()
                stamps[file] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return stamps
