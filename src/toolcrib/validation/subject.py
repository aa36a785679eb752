"""What `toolcrib check` looks at: a crib's tools, and the files they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from toolcrib.definition.ports import Source
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.exposure.intent_data import Intents, shipped_intents
from toolcrib.exposure.intents import IntentTables, intent_tables, tools_by_name
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.tools_json import ToolsJson
from toolcrib.registry.sources.tools_json_format import ToolsJsonEntry, entries
from toolcrib.validation.chain_findings import Place
from toolcrib.validation.limits import Limits
from toolcrib.validation.places import Places


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One entry of a ``tools.json`` whose form is right."""

    name: str
    path: Path
    location: Location
    entry: ToolsJsonEntry


class Subject:
    """A crib under examination.

    Args:
        registry: its tools.
        sources: where they come from.
        problems: what is wrong in the files, as the sources reported it.
        intents: None = the shipped ones.
        tables: None = generated from the tools; a project that keeps S3's tables by hand has its own checked.
        extract_tool_name: the tool that a function's name belongs to; None = as the registry knows it.
        limits: what is too much.
        strict: whether every tool has to serve an intent, as S3 demands; always so where ``tables`` are given.

    Attributes:
        tools: the functions of each tool.
        unreadable: functions whose parameters cannot be told, with the reason; they are in nothing else.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        sources: Sequence[Source] = (),
        problems: Iterable[SourceError] = (),
        intents: Intents | None = None,
        tables: IntentTables | None = None,
        extract_tool_name: Callable[[str], str] | None = None,
        limits: Limits | None = None,
        strict: bool = False,
    ) -> None:
        self.registry = registry
        self.unreadable = {tool.name: error for tool in registry if (error := _reading_error(tool)) is not None}
        self.definitions = tuple(tool for tool in registry if tool.name not in self.unreadable)
        self.tools = tools_by_name(self.definitions)
        self.intents = intents if intents is not None else shipped_intents()
        self.tables = tables if tables is not None else intent_tables(self.definitions, self.intents)
        self.extract_tool_name = extract_tool_name or self._extract_tool_name
        self.limits = limits or Limits()
        self.strict = strict or tables is not None
        self.problems = (*problems, *self.intents.problems)
        self.tools_files = tuple(path for each in sources if isinstance(each, ToolsJson) for path in each.paths())
        paths = dict.fromkeys(path for each in sources for path in each.paths())
        self.registry_files = tuple(path for path in paths if path.name == "registry.json" and path.is_file())
        self.places = Places(self.registry_files)

    @cached_property
    def listed(self) -> tuple[ListedTool, ...]:
        """The entries of all ``tools.json`` files, enabled or not."""
        return tuple(each for path in self.tools_files for each in self._listed(path))

    def _listed(self, path: Path) -> Iterator[ListedTool]:
        document = self.places.document(path)
        for name, location, value in entries(document) if document else ():
            try:
                yield ListedTool(name, path, location, ToolsJsonEntry.model_validate(value))
            except ValidationError:
                continue  # the source has reported it

    @property
    def enabled(self) -> tuple[ListedTool, ...]:
        """The entries that are not switched off."""
        return tuple(each for each in self.listed if each.entry.enabled)

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """Every tool there should be: those that are registered, and the enabled entries that could not be used."""
        return tuple(dict.fromkeys((*self.tools, *self.unreadable, *(each.name for each in self.enabled))))

    def place(self, tool: str, *key: str | int) -> Place | None:
        """Where a fact of a tool stands."""
        return self.places.of(self.tools[tool][0], *key)

    def _extract_tool_name(self, name: str) -> str:
        pair = self.registry.actions.pair(name)
        if pair is not None:
            return pair[0]
        return name if name in self.registry else name.partition("_")[0]


def _reading_error(tool: ToolDefinition) -> Exception | None:
    """Why what a typed function says of itself cannot be read; it is read only when it is needed."""
    try:
        _ = tool.description, tool.parameters, tool.output_schema, tool.injected
    except Exception as error:
        return error
    return None
