"""Imports modules whose authors may have made mistakes: bounded in time and output, and with the line of an error."""

from __future__ import annotations

import builtins
import contextvars
import ctypes
import importlib
import importlib.util
import io
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Generic, TypeVar

from toolcrib.errors import SourceError, ToolcribError

T = TypeVar("T")

LOAD_SECONDS = 30.0

MOST_OUTPUT = 64 * 1024
"""Characters that a file may print while it is loaded."""

_LAST_WORDS = 1.0
_SHOWN_OUTPUT = 500

logger = logging.getLogger("toolcrib")


class LoadingStopped(BaseException):
    """Ends the import of a module that does not end by itself; no ``except Exception`` catches it."""


class Attempt(Generic[T]):
    """What became of a function that was run in a thread of its own, so that it cannot take this one with it.

    Args:
        action: the function; it runs in a copy of this context.
        seconds: how long it may take; after that it is interrupted, and left behind where even that does not help.

    Attributes:
        value: what it returned, where ``error`` is None.
        error: whatever it raised.
        frames: where it was when it raised, or was interrupted.
        abandoned: whether it may still be running.
    """

    def __init__(self, action: Callable[[], T], seconds: float) -> None:
        self.value: T | None = None
        self.error: BaseException | None = None
        self.frames: Sequence[traceback.FrameSummary] = ()
        self.abandoned = False
        self._action = action
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._run,), name="toolcrib-load", daemon=True
        )
        self._thread.start()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._interrupt(seconds)
        elif self.error is not None:
            self.frames = traceback.extract_tb(self.error.__traceback__)

    def _run(self) -> None:
        try:
            self.value = self._action()
        except BaseException as error:
            self.error = error

    def _interrupt(self, seconds: float) -> None:
        identity = self._thread.ident or 0
        frame: FrameType | None = sys._current_frames().get(identity)
        frames = traceback.extract_stack(frame) if frame is not None else []
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identity), ctypes.py_object(LoadingStopped))
        self._thread.join(_LAST_WORDS)
        self.abandoned = self._thread.is_alive()
        self.value = None
        self.error = LoadingStopped(f"it takes longer than {seconds:g} s")
        self.frames = frames


def import_problem(attempt: Attempt[Any], label: str, *, within: Path | None = None) -> SourceError:
    """The error of an import that failed, with the file and line where it happened.

    Args:
        attempt: the import.
        label: the file or module that was to be imported.
        within: a folder; the last line that lies in it counts. None = the last line anywhere.
    """
    error = attempt.error
    assert error is not None
    if isinstance(error, SyntaxError) and error.filename:
        return SourceError(f"not valid Python: {error.msg}", path=error.filename, line=error.lineno)
    frames = [frame for frame in attempt.frames if _is_of_author(frame.filename)]
    inside = [frame for frame in frames if within is not None and Path(frame.filename).is_relative_to(within)]
    frames = inside or ([] if within is not None else frames)
    path, line = (frames[-1].filename, frames[-1].lineno) if frames else (label, None)
    return SourceError(_message(error), path=path, line=line, hint=getattr(error, "hint", None))


def _message(error: BaseException) -> str:
    if isinstance(error, LoadingStopped | ToolcribError):
        return f"loading it failed: {error}"
    if isinstance(error, SystemExit):
        return f"loading it failed: it ends the program (exit {error.code})"
    try:
        text = str(error)
    except Exception:  # its __str__ failed
        text = ""
    return f"loading it failed: {type(error).__name__}{f': {text}' if text else ''}"


def _is_of_author(filename: str) -> bool:
    return not filename.startswith("<frozen ") and filename not in (__file__, importlib.__file__)


class FolderFinder(MetaPathFinder):
    """Finds the modules of one package whose files lie in a folder that is not on ``sys.path``.

    Byte code is neither read nor written: it is told apart by seconds, and an author saves twice in one.

    Args:
        package: the package's name, unique in this process.
        folder: holds its modules.
    """

    def __init__(self, package: str, folder: Path) -> None:
        self._package = package
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Iterable[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module of the package is, or None."""
        if not fullname.startswith(f"{self._package}."):
            return None
        place = self._folder.joinpath(*fullname.split(".")[1:])
        package, module = place / "__init__.py", place.with_name(f"{place.name}.py")
        file = package if package.is_file() else module
        if not file.is_file():
            return None
        return importlib.util.spec_from_file_location(
            fullname,
            file,
            loader=_FreshLoader(fullname, str(file)),
            submodule_search_locations=[str(place)] if file is package else None,
        )

    def __enter__(self) -> FolderFinder:
        if self._package not in sys.modules:
            module = ModuleType(self._package, "Tools of a folder.")
            module.__path__ = [str(self._folder)]
            sys.modules[self._package] = module
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.meta_path.remove(self)


class _FreshLoader(SourceFileLoader):
    """Loads what the file holds now, and keeps what it prints meanwhile away from standard output."""

    def path_stats(self, path: Any) -> Any:
        """Raise: without a time of the file, Python uses no byte code."""
        raise OSError(f"byte code of {path} is not used")

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        output = _Output()
        show = output.print
        module.__dict__["print"] = show
        try:
            super().exec_module(module)
        finally:
            if module.__dict__.get("print") is show:
                del module.__dict__["print"]
            output.log(self.path)


class _Output:
    """Takes the place of ``print`` while a file is loaded."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0

    def print(self, *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, **_: Any) -> None:
        """Keep what is printed; what goes to a stream of its own goes there.

        Raises:
            LoadingStopped: it is too much.
        """
        buffer = io.StringIO()
        builtins.print(*values, sep=sep, end=end, file=buffer)
        text = buffer.getvalue()
        self._size += len(text)
        if self._size > MOST_OUTPUT:
            raise LoadingStopped(f"it prints more than {MOST_OUTPUT // 1024} KiB")
        if file is None:
            self._texts.append(text)
        else:
            file.write(text)

    def log(self, path: str) -> None:
        """Write it to the log."""
        text = "".join(self._texts).strip()
        if text:
            logger.info("%s printed while it was loaded: %s", path, text[:_SHOWN_OUTPUT])
