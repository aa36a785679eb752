"""What the intents are: the shipped ones, and what a project's ``intents.json`` adds (contract W013, §3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from toolcrib.errors import SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.document import Document, parse_document
from toolcrib.registry.sources.manifest import Strict, Text, Words, words
from toolcrib.registry.sources.problems import shown, validation_problems

SHIPPED = Path(__file__).with_name("intents.json")
"""The file of the shipped intents."""

FILE_NAME = "intents.json"
"""What a project's own file is called; it lies beside ``registry.json``."""

WECLAW: Mapping[str, tuple[str, ...]] = {
    "browser_automation": ("browser_automation",),
    "file_operation": ("file_management",),
    "document_assembly": ("document_creation",),
    "mcp_task": ("agent_orchestration",),
    "system_admin": ("system_control",),
    "daily_assistant": ("calendar_weather", "calculation_text"),
    "knowledge": ("knowledge_learning",),
    "life_management": ("task_planning", "life_health"),
    "email_task": ("email_contacts",),
    "multimedia": ("audio_video",),
    "document_processing": ("document_processing",),
    "data_analysis": ("data_analysis",),
    "creative_content": ("image_creation",),
    "professional_docs": ("document_creation",),
    "development": ("code_development",),
    "education": ("knowledge_learning",),
    "research": ("web_research",),
    "communication": ("communication",),
}
"""WeClaw's 18 names → ours; a tool may declare either."""


@dataclass(frozen=True, slots=True)
class Intent:
    """One kind of thing that people want done.

    Attributes:
        name: as tools declare it.
        titles, descriptions: for people, by language (``zh``, ``en``).
        keywords: what occurs in sentences of this kind, by language.
        tools: tools that a file puts here without saying how good they are at it.
        recommended, alternative: tools that a file puts here.
    """

    name: str
    titles: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    recommended: tuple[str, ...] = ()
    alternative: tuple[str, ...] = ()

    @property
    def all_keywords(self) -> tuple[str, ...]:
        """Those of every language, each once."""
        return tuple(dict.fromkeys(each for language in self.keywords.values() for each in language))


class Keywords(Strict):
    """Keywords by language."""

    zh: list[Text] = Field([], description="In Chinese.")
    en: list[Text] = Field([], description="In English.")


class IntentEntry(Strict):
    """What a file says of one intent; of one that there is, only what it adds."""

    name: Words = Field("", description="A name for people; a new intent needs one.")
    description: Words = Field("", description="What it covers, for people.")
    keywords: Keywords = Field(Keywords.model_validate({}), description="What occurs in sentences of this kind.")
    tools: list[Text] = Field([], description="Tools that serve it, such as those of an MCP server.")
    recommended: list[Text] = Field([], description="Tools that are shown first.")
    alternative: list[Text] = Field([], description="Tools that are shown when the recommended ones do not do.")


@dataclass(frozen=True, slots=True)
class IntentLayer:
    """What one file says."""

    document: Document
    entries: Mapping[str, IntentEntry]


class Intents(Mapping[str, Intent]):
    """The intents by name, in a fixed order: the shipped ones, then those that files add.

    Attributes:
        layers: the files, the shipped one first.
        problems: what is wrong in them.

    Example:
        >>> len(shipped_intents()), next(iter(shipped_intents()))
        (18, 'web_research')
    """

    def __init__(self, layers: Iterable[IntentLayer], problems: Iterable[SourceError] = ()) -> None:
        self.layers = tuple(layers)
        self._intents: dict[str, Intent] = {}
        found = [problem for layer in self.layers for problem in self._add(layer)]
        self.problems = (*problems, *found)

    def names_of(self, declared: str) -> tuple[str, ...]:
        """The intents that a declared name means: itself, or what stands for a name of WeClaw's; () = none.

        Example:
            >>> shipped_intents().names_of("life_management"), shipped_intents().names_of("nonsense")
            (('task_planning', 'life_health'), ())
        """
        return (declared,) if declared in self._intents else WECLAW.get(declared, ())

    def _add(self, layer: IntentLayer) -> Iterator[SourceError]:
        for name, entry in layer.entries.items():
            known = self._intents.get(name)
            if known is None and not entry.name:
                yield layer.document.problem((name,), f"there is no intent {name!r}", hint=self.hint_for(name))
            else:
                self._intents[name] = _extended(known or Intent(name), entry)

    def hint_for(self, name: str) -> str:
        """What to write in place of a name that means nothing."""
        if name in WECLAW:
            return f"Here it is {' or '.join(map(repr, WECLAW[name]))}."
        close = nearest(name, self._intents, limit=1)
        return f"Did you mean {close[0]!r}?" if close else f"Give it a name in {FILE_NAME} to make it a new intent."

    def __getitem__(self, name: str) -> Intent:
        return self._intents[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._intents)

    def __len__(self) -> int:
        return len(self._intents)


def _extended(intent: Intent, entry: IntentEntry) -> Intent:
    keywords = {
        language: tuple(dict.fromkeys((*intent.keywords.get(language, ()), *getattr(entry.keywords, language))))
        for language in ("zh", "en")
    }
    return replace(
        intent,
        titles={**intent.titles, **_by_language(entry.name)},
        descriptions={**intent.descriptions, **_by_language(entry.description)},
        keywords={language: each for language, each in keywords.items() if each},
        tools=(*intent.tools, *entry.tools),
        recommended=(*intent.recommended, *entry.recommended),
        alternative=(*intent.alternative, *entry.alternative),
    )


def _by_language(value: Any) -> dict[str, str]:
    text, texts = words(value)
    return texts or ({"zh": text, "en": text} if text else {})


@cache
def shipped_intents() -> Intents:
    """The 18 that toolcrib ships (contract W013)."""
    return load_intents(())


def load_intents(files: Sequence[Path]) -> Intents:
    """The shipped intents with what ``files`` add; a file that does not exist adds nothing.

    What is wrong in a file becomes one of `Intents.problems`, with path and line, and the rest counts.
    """
    layers = list(shipped_intents().layers) if files else []
    problems: list[SourceError] = []
    for path in files or (SHIPPED,):
        try:
            document = parse_document(path, path.read_bytes())
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(SourceError(f"cannot be read: {error.strerror or error}", path=str(path)))
            continue
        except SourceError as error:
            problems.append(error)
            continue
        layers.append(IntentLayer(document, dict(_entries(document, problems))))
    return Intents(layers, problems)


def _entries(document: Document, problems: list[SourceError]) -> Iterator[tuple[str, IntentEntry]]:
    for name, value in document.data.items():
        subject = f"intent {name!r}"
        if name.startswith(("_", "$")):
            continue
        if not isinstance(value, dict):
            problems.append(document.problem((name,), f"{subject}: it should be an object, got {shown(value)}"))
            continue
        try:
            yield name, IntentEntry.model_validate(value)
        except ValidationError as error:
            problems += validation_problems(error, IntentEntry, document, (name,), subject)
