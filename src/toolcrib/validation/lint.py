"""``toolcrib lint TOOL``: what each provider is sent of a tool, and what could be better (contract W027, M01, M02)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.definition.dialects import Dialect, to_dialect
from toolcrib.definition.dialects.alias import LONGEST_DESCRIPTION, alias
from toolcrib.definition.dialects.openai import why_not_strict
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import ToolcribError
from toolcrib.exposure.tokens import schema_tokens
from toolcrib.validation.checks_schemas import DIALECTS, schema_problems


@dataclass(frozen=True, slots=True)
class Sent:
    """A tool in one dialect.

    Attributes:
        dialect: which.
        entry: what is sent; None where it cannot be.
        tokens: about how much that costs.
        error: why it cannot be sent.
    """

    dialect: Dialect
    entry: Mapping[str, Any] | None
    tokens: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Lint:
    """What is to be said of one function.

    Attributes:
        name: its own.
        alias: the name that models see.
        sent: what is sent, by dialect.
        not_strict: why OpenAI's strict mode is not possible; None = it is.
        undescribed: parameters without a description, by path.
        problems: what is wrong with the schemas.
        remarks: what somebody may stumble over.
    """

    name: str
    alias: str
    sent: tuple[Sent, ...]
    not_strict: str | None
    undescribed: tuple[str, ...]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "alias": self.alias,
            "strict": self.not_strict is None,
            "not_strict": self.not_strict,
            "undescribed": list(self.undescribed),
            "problems": list(self.problems),
            "remarks": list(self.remarks),
            "dialects": {
                each.dialect: {"tokens": each.tokens, "error": each.error, "sent": each.entry} for each in self.sent
            },
        }


def lint(tool: ToolDefinition) -> Lint:
    """Look at what models are sent of one function.

    Example:
        >>> found = lint(ToolDefinition("docs.search", "Searches.", {"type": "object", "properties": {"q": {}}}))
        >>> found.alias, found.not_strict, found.undescribed
        ('docs_search_a7e557a3', 'q may be anything, and strict mode wants a type', ('q',))
    """
    return Lint(
        tool.name,
        alias(tool.name),
        tuple(_sent(tool, dialect) for dialect in DIALECTS),
        _why_not_strict(tool),
        tuple(_undescribed(tool.parameters, "")),
        tuple(schema_problems(tool)),
        tuple(_remarks(tool)),
    )


def _why_not_strict(tool: ToolDefinition) -> str | None:
    try:
        return why_not_strict(tool.parameters)
    except ToolcribError as error:
        return str(error)


def _sent(tool: ToolDefinition, dialect: Dialect) -> Sent:
    try:
        entry = to_dialect(tool, dialect)
    except Exception as error:
        return Sent(dialect, None, error=f"{type(error).__name__}: {error}")
    return Sent(dialect, entry, schema_tokens(entry))


def _undescribed(schema: Any, prefix: str) -> Iterator[str]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, member in properties.items() if isinstance(properties, Mapping) else ():
        path = f"{prefix}{name}"
        if isinstance(member, Mapping) and "$ref" not in member:
            if not member.get("description"):
                yield path
            yield from _undescribed(member, f"{path}.")
            yield from _undescribed(member.get("items"), f"{path}[].")


def _remarks(tool: ToolDefinition) -> Iterator[str]:
    if not tool.description.strip():
        yield "it has no description, so a model has to guess what it does"
    elif len(tool.description) > LONGEST_DESCRIPTION:
        yield f"its description has {len(tool.description)} characters; OpenAI is sent at most {LONGEST_DESCRIPTION}"
    if tool.output_schema is None:
        yield "it has no output schema, so nobody knows what a result looks like"
    if not tool.examples:
        yield "it has no examples, the sentences that a user would say"
    if tool.effects is None:
        yield "it does not say what its effects are (none, read, write or external)"
