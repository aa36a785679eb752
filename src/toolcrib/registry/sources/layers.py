"""What the files say of each tool, before it is joined to definitions (contract T015)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolcrib.errors import SourceError
from toolcrib.registry.sources.document import Document, parse_document
from toolcrib.registry.sources.manifest import GroupEntry, ToolEntry, ToolFacts
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.schemas import schema_mistakes


@dataclass(frozen=True, slots=True)
class ToolLayer:
    """What one file says of one tool.

    Attributes:
        tool_id: the tool.
        facts: what the file says; only the fields that are set count.
        document: the file.
        location: where in it the entry stands.
        directory: the tool's folder, where the file is its ``tool.toml``.
    """

    tool_id: str
    facts: ToolFacts
    document: Document
    location: Location
    directory: Path | None = None

    @property
    def subject(self) -> str:
        """How an error names the tool."""
        return f"tool {self.tool_id!r}"

    def problem(self, key: str | Location, message: str, *, hint: str | None = None) -> SourceError:
        """An error at one key of the entry."""
        location = (*self.location, *((key,) if isinstance(key, str) else key))
        return self.document.problem(location, f"{self.subject}: {message}", hint=hint)


@dataclass(frozen=True, slots=True)
class GroupLayer:
    """What one file says of one group."""

    entry: GroupEntry
    document: Document
    location: Location

    def problem(self, key: Location, message: str, *, hint: str | None = None) -> SourceError:
        """An error at one key of the entry."""
        return self.document.problem((*self.location, *key), f"group {self.entry.group_id!r}: {message}", hint=hint)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in one file or folder.

    Attributes:
        tools, groups: what could be used.
        problems: what could not.
        broken: tools whose entries could not be used; what they were before stays in force.
        broken_groups: the same for groups.
        off: of the broken ones, those whose entries say that they are switched off.
        nameless: whether an entry is so wrong that nobody knows which tool it is; then no tool of the file goes away.
        places: a folder's tool folders by name.
        undefined: of those, the ones without a ``tool.toml``, with the error that says so.
    """

    tools: tuple[ToolLayer, ...] = ()
    groups: tuple[GroupLayer, ...] = ()
    problems: tuple[SourceError, ...] = ()
    broken: frozenset[str] = frozenset()
    broken_groups: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    nameless: bool = False
    places: Mapping[str, Path] = field(default_factory=dict)
    undefined: Mapping[str, SourceError] = field(default_factory=dict)


@dataclass(slots=True)
class _Memory:
    content: bytes
    reading: Reading
    good: Reading | None


class FileMemory:
    """Reads files, and remembers what each held when its syntax was last right.

    A file that has not changed is not parsed again. One that is broken as a whole, as an editor leaves it while it
    writes, counts as what it was before.
    """

    def __init__(self) -> None:
        self._files: dict[Path, _Memory] = {}

    def read(self, path: Path, interpret: Callable[[Document], Reading]) -> Reading:
        """What stands in the file at ``path``; a file that does not exist is empty."""
        known = self._files.get(path)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            self._files.pop(path, None)
            return Reading()
        except OSError as error:
            return _fall_back(known, SourceError(f"cannot be read: {error.strerror or error}", path=str(path)))
        if known is not None and known.content == content:
            return known.reading
        try:
            reading = interpret(parse_document(path, content))
            good: Reading | None = reading
        except SourceError as error:
            good = known.good if known else None
            reading = _fall_back(known, error)
        self._files[path] = _Memory(content, reading, good)
        return reading

    def forget_except(self, paths: set[Path]) -> None:
        """Forget the files that are not among ``paths``."""
        for path in self._files.keys() - paths:
            del self._files[path]


def _fall_back(known: _Memory | None, problem: SourceError) -> Reading:
    good = known.good if known else None
    return replace(good, problems=(problem,)) if good else Reading(problems=(problem,), nameless=True)


def schema_problems(layer: ToolLayer) -> list[SourceError]:
    """What is wrong with the schemas that stand in the entry itself."""
    return [
        layer.problem((name, *mistake.location), f'"{name}": {mistake.message}', hint=mistake.hint)
        for name in ("input_schema", "output_schema")
        if name in layer.facts.model_fields_set and isinstance(schema := getattr(layer.facts, name), dict)
        for mistake in schema_mistakes(schema, of_object=name == "input_schema")
    ]


def is_enabled(layers: list[ToolLayer]) -> bool:
    """Whether the last layer that says so leaves the tool enabled."""
    layer = disabling(layers)
    return layer is None or bool(getattr(layer.facts, "enabled", True))


def disabling(layers: list[ToolLayer]) -> ToolLayer | None:
    """The layer that decides whether the tool is enabled: the last that says anything of it; None where none does."""
    said = [
        layer for layer in layers if isinstance(layer.facts, ToolEntry) and "enabled" in layer.facts.model_fields_set
    ]
    return said[-1] if said else None
