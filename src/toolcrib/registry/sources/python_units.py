"""What lies in a folder of Python files, before any of it is loaded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import SourceError
from toolcrib.registry.sources.folder import IGNORED_DIRECTORIES

PACKAGE = "__init__.py"

_USES_SIBLINGS = re.compile(rb"^\s*from\s+\.", re.MULTILINE)
_PACKAGE_USES_SIBLINGS = re.compile(rb"^\s*from\s+\.\.", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Unit:
    """A file, or a package, whose tools are listed.

    Attributes:
        name: of its module.
        path: the file; a package's ``__init__.py``.
        text: what stands in it.
        digest: equal where nothing has changed in its files and in those of the folder that it uses.
        outside: the same for the latter alone; empty where it uses none.
    """

    name: str
    path: Path
    text: bytes
    digest: str
    outside: str

    @property
    def is_package(self) -> bool:
        """Whether it may have more files."""
        return self.path.name == PACKAGE


@dataclass(frozen=True, slots=True)
class Units:
    """What a folder holds.

    Attributes:
        units: in the order of their names.
        shared: a digest of the files that only the others use.
        problems: what cannot be read.
        unread: names of units that are there and cannot be read.
    """

    units: tuple[Unit, ...] = ()
    shared: str = ""
    problems: tuple[SourceError, ...] = ()
    unread: frozenset[str] = frozenset()


def read_units(folder: Path) -> Units:
    """Read the Python files of a folder; one that does not exist is empty.

    Raises:
        SourceError: the folder cannot be read.
    """
    try:
        entries = sorted(
            path for path in folder.iterdir() if path.name[0] != "." and path.name not in IGNORED_DIRECTORIES
        )
    except FileNotFoundError:
        return Units()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", path=str(folder)) from error
    contents: dict[Path, dict[Path, bytes]] = {}
    problems: list[SourceError] = []
    unread: set[str] = set()
    for entry in entries:
        try:
            if files := {path: path.read_bytes() for path in _files_of(entry)}:
                contents[entry] = files
        except FileNotFoundError:  # it went away just now
            continue
        except OSError as error:
            problems.append(
                SourceError(f"cannot be read: {error.strerror or error}", path=str(error.filename or entry))
            )
            unread.add(entry.name.removesuffix(".py"))
    digests = {
        entry: _digest(text for pair in files.items() for text in (str(pair[0]).encode(), pair[1]))
        for entry, files in contents.items()
    }
    units: dict[str, Unit] = {}
    for entry, files in contents.items():
        name = entry.name.removesuffix(".py")
        if entry.name[0] == "_":
            continue
        if name in units or "." in name:
            message = f"{units[name].path} has the same name" if name in units else "its name contains a dot"
            problems.append(SourceError(message, path=str(entry), hint="Rename it."))
            continue
        uses = _PACKAGE_USES_SIBLINGS if entry.is_dir() else _USES_SIBLINGS
        others = (digest.encode() for other, digest in digests.items() if other != entry)
        outside = _digest(others) if any(map(uses.search, files.values())) else ""
        path = entry / PACKAGE if entry.is_dir() else entry
        units[name] = Unit(name, path, files[path], digests[entry] + outside, outside)
    shared = _digest(digest.encode() for entry, digest in digests.items() if entry.name[0] == "_")
    return Units(tuple(units.values()), shared, tuple(problems), frozenset(unread))


def _files_of(entry: Path) -> Iterator[Path]:
    """The Python files of a file or package; nothing for anything else."""
    if entry.suffix == ".py" and entry.is_file():
        yield entry
    elif (entry / PACKAGE).is_file():
        for directory, directories, names in os.walk(entry):
            directories[:] = sorted(name for name in directories if name not in IGNORED_DIRECTORIES)
            yield from (Path(directory, name) for name in sorted(names) if name.endswith(".py"))


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.hexdigest()
