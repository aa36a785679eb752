"""Changes of files are noticed while the service runs (contract T015)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.unit.registry.project import SLACK, Project, remote
from toolcrib.registry import watch as watching
from toolcrib.registry.watch import watch


class Watcher:
    """Counts the calls of ``on_change`` and waits for the next."""

    def __init__(self) -> None:
        self.calls = 0
        self.ready = asyncio.Event()
        self.stop = asyncio.Event()
        self._called = asyncio.Condition()

    async def on_change(self) -> None:
        """A change was noticed."""
        async with self._called:
            self.calls += 1
            self._called.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds after a change."""
        async with asyncio.timeout(10 * SLACK), self._called:
            await self._called.wait_for(condition)


@asynccontextmanager
async def watched(*paths: Path) -> AsyncIterator[Watcher]:
    """Watch ``paths`` inside the block; nothing is left of it afterwards."""
    watcher = Watcher()
    task = asyncio.create_task(watch(lambda: paths, watcher.on_change, watcher.stop, watching=watcher.ready))
    async with asyncio.timeout(10 * SLACK):
        await watcher.ready.wait()
    try:
        yield watcher
    finally:
        watcher.stop.set()
        async with asyncio.timeout(5 * SLACK):
            await task
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_T015_an_edited_file_is_noticed(project: Project) -> None:
    path = project.write_tool("near")
    project.write_registry()
    async with watched(project.folder, project.registry) as watcher:
        path.write_text("changed")
        await watcher.until(lambda: watcher.calls >= 1)
        seen = watcher.calls
        project.write_registry(remote("far"))
        await watcher.until(lambda: watcher.calls > seen)
        seen = watcher.calls
        (path.parent / "main.py").write_text("print('another')")
        await watcher.until(lambda: watcher.calls > seen)


async def test_T015_a_file_that_replaces_another_is_noticed_again_and_again(project: Project) -> None:
    project.write_registry()
    async with watched(project.folder, project.registry) as watcher:
        for number in range(3):
            seen = watcher.calls
            temporary = project.root / "new.json"
            temporary.write_text("{}" + " " * number)
            temporary.replace(project.registry)
            await watcher.until(lambda seen=seen: watcher.calls > seen)  # type: ignore[misc]


async def test_T015_folders_and_files_that_appear_later_are_noticed(project: Project) -> None:
    async with watched(project.folder, project.registry) as watcher:
        path = project.write_tool("near")
        await watcher.until(lambda: watcher.calls >= 1)
        seen = watcher.calls
        path.write_text("changed")
        await watcher.until(lambda: watcher.calls > seen)
        seen = watcher.calls
        deep = path.parent / "package" / "inner"
        deep.mkdir(parents=True)
        (deep / "module.py").touch()
        await watcher.until(lambda: watcher.calls > seen)
        seen = watcher.calls
        project.write_registry()
        await watcher.until(lambda: watcher.calls > seen)


async def test_T015_a_folder_that_goes_and_comes_back_is_noticed(project: Project) -> None:
    path = project.write_tool("near")
    async with watched(project.folder) as watcher:
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
        project.folder.rmdir()
        await watcher.until(lambda: watcher.calls >= 1)
        seen = watcher.calls
        project.write_tool("near")
        await watcher.until(lambda: watcher.calls > seen)


async def test_T015_what_tools_write_themselves_is_not_noticed(project: Project) -> None:
    path = project.write_tool("near")
    noise = [path.parent / "tests" / "last_run.log", path.parent / "__pycache__" / "main.pyc"]
    noise += [path.parent / ".venv" / "lib" / "module.py", project.root / "README.md"]
    for file in noise:
        file.parent.mkdir(parents=True, exist_ok=True)
    async with watched(project.folder, project.registry) as watcher:
        for file in noise:
            file.write_text("noise")
        await asyncio.sleep(0.3)
        assert watcher.calls == 0
        path.write_text("changed")
        await watcher.until(lambda: watcher.calls == 1)


async def test_T015_a_burst_of_writes_is_one_change(project: Project) -> None:
    path = project.write_tool("near")
    async with watched(project.folder) as watcher:
        for number in range(50):
            path.write_text(f"# {number}")
        await watcher.until(lambda: watcher.calls >= 1)
        assert watcher.calls <= 2


async def test_T015_a_change_during_the_reading_leads_to_another_reading(project: Project) -> None:
    path = project.write_tool("near")
    read: list[str] = []
    stop, ready, caught = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def on_change() -> None:
        read.append(path.read_text())
        if len(read) == 1:
            path.write_text("second")
        if read[-1] == "second":
            caught.set()

    task = asyncio.create_task(watch(lambda: [project.folder], on_change, stop, watching=ready))
    async with asyncio.timeout(10 * SLACK):
        await ready.wait()
        path.write_text("first")
        await caught.wait()
        stop.set()
        await task


async def test_T015_an_error_while_reading_is_logged_and_watching_goes_on(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    path = project.write_tool("near")
    stop, ready, again = asyncio.Event(), asyncio.Event(), asyncio.Event()
    calls = 0

    async def on_change() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            path.write_text("second")
            raise RuntimeError("no luck")
        again.set()

    with caplog.at_level(logging.ERROR, logger="toolcrib.registry.watch"):
        task = asyncio.create_task(watch(lambda: [project.folder], on_change, stop, watching=ready))
        async with asyncio.timeout(10 * SLACK):
            await ready.wait()
            path.write_text("first")
            await again.wait()
            stop.set()
            await task
    assert "no luck" in caplog.text


async def test_T015_cancelling_ends_the_watching_and_leaves_the_callers_event_alone(project: Project) -> None:
    project.write_tool("near")
    watcher = Watcher()
    task = asyncio.create_task(watch(lambda: [project.folder], watcher.on_change, watcher.stop, watching=watcher.ready))
    async with asyncio.timeout(10 * SLACK):
        await watcher.ready.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not watcher.stop.is_set()


async def test_T015_where_the_system_cannot_notify_the_files_are_looked_at(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = project.write_tool("near")

    async def refuse(*_: object, **__: object) -> AsyncIterator[None]:
        raise OSError("OS file watch limit reached")
        yield

    monkeypatch.setattr("watchfiles.awatch", refuse)
    monkeypatch.setattr(watching, "_POLL", 0.05)
    async with watched(project.folder) as watcher:
        path.write_text("changed")
        await watcher.until(lambda: watcher.calls >= 1)
    assert caplog.text.count("does not notify") == 1


def test_T015_only_directories_in_which_a_change_matters_are_watched(project: Project) -> None:
    path = project.write_tool("near")
    for name in (".venv/lib", "__pycache__", "tests"):
        (path.parent / name).mkdir(parents=True)
    outside = project.root / "outside"
    outside.mkdir()
    (project.folder / "linked").symlink_to(outside)
    (outside / "loop").symlink_to(outside)
    found: Iterable[Path] = watching._directories([project.folder, project.registry, project.root / "a" / "b"])
    assert found == {
        project.root,
        project.folder.parent,
        project.folder,
        path.parent,
        path.parent / "tests",
        project.folder / "linked",
    } | ({project.folder / "linked" / "loop"} & set(found))
