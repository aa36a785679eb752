"""Parameters of an operation: the arguments they become, and where these go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from toolcrib.registry.sources.openapi.document import ApiDocument, ApiProblem
from toolcrib.registry.sources.openapi.schemas import Schemas
from toolcrib.registry.sources.openapi.wire import HttpParameter, Place
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

PLACES: tuple[Place, ...] = ("path", "query", "header", "cookie")
_STYLES: Mapping[Place, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
"""The styles of each place; the first is the one where nothing is said."""

_NOT_ARGUMENTS = frozenset(
    {"accept", "content-type", "authorization", "host", "content-length", "transfer-encoding", "connection", "te"}
    | {"trailer", "upgrade", "expect", "keep-alive", "cookie", "proxy-authorization"}
)
"""Headers that OpenAPI leaves to other parts of the document, or that belong to the connection."""

_NAME = re.compile(r"[\w.-]{1,64}")
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_WORDS = {"path": "path parameter", "query": "query parameter", "header": "header", "cookie": "cookie"}


@dataclass
class Arguments:
    """The arguments of one operation, as one flat object.

    Attributes:
        properties: the schema of each.
        required: those that must be given.
        notes: what a reader must know of names that are not those of the API.
    """

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _owners: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, schema: Any, *, suffix: str, what: str, required: bool) -> str:
        """Add an argument and return the name it got.

        Args:
            name: on the wire.
            schema: of its values, translated.
            suffix: put behind the name where another argument has it.
            what: what it is, such as ``query parameter``.
            required: whether it must be given.
        """
        cleaned = name if _NAME.fullmatch(name) else re.sub(r"[^\w.-]+", "_", name).strip("_")[:64] or suffix
        argument, number = cleaned, 1
        while argument in self.properties:
            argument = f"{cleaned}_{suffix}" if number == 1 else f"{cleaned}_{suffix}_{number}"
            number += 1
        if number > 1 and cleaned == name:
            self.notes.append(f"`{name}` is the {self._owners[cleaned]}, `{argument}` the {what} of the same name.")
        elif argument != name:
            self.notes.append(f"`{argument}` is the {what} `{name}`.")
        self._owners[argument] = what
        self.properties[argument] = schema
        if required:
            self.required.append(argument)
        return argument


def read_parameters(
    document: ApiDocument,
    schemas: Schemas,
    path: str,
    groups: list[tuple[Any, Location]],
    arguments: Arguments,
) -> list[HttpParameter]:
    """Add the parameters of an operation to its arguments, and say where each goes.

    Args:
        document: where references point.
        schemas: translates their schemas.
        path: the operation's, with ``{variables}``.
        groups: the ``parameters`` of the path and of the operation, which win.
        arguments: receives them.

    Raises:
        ApiProblem: one of them cannot be used.
    """
    found: dict[tuple[str, str], tuple[Mapping[str, Any], Location]] = {}
    for parameters, at in groups:
        for parameter, place in _each(document, parameters, at):
            found[(parameter["in"], parameter["name"])] = (parameter, place)
    variables = list(dict.fromkeys(_VARIABLE.findall(path)))
    for variable in variables:
        found.setdefault(("path", variable), ({"name": variable, "schema": {"type": "string"}}, ("paths", path)))
    result = []
    for where in PLACES:
        for (kind, name), (parameter, at) in found.items():
            is_unused = where == "path" and name not in variables
            is_reserved = where == "header" and name.lower() in _NOT_ARGUMENTS
            if kind == where and not is_unused and not is_reserved:
                result.append(_read(document, schemas, where, parameter, at, arguments))
    return result


def described(schema: Any, description: Any, *, deprecated: Any = False) -> Any:
    """A schema with the description of what it is used for, if there is one."""
    words: dict[str, Any] = {}
    if isinstance(description, str) and description.strip():
        words["description"] = description
    if deprecated is True:
        words["deprecated"] = True
    if not words:
        return schema
    if isinstance(schema, bool):
        return words if schema else {**words, "not": {}}
    return {**schema, **words}


def _each(document: ApiDocument, parameters: Any, at: Location) -> Iterator[tuple[Mapping[str, Any], Location]]:
    if parameters is None:
        return
    if not isinstance(parameters, list):
        raise ApiProblem(at, f'"parameters" should be a list, got {shown(parameters)}')
    for index, value in enumerate(parameters):
        parameter, place = document.object_at(value, (*at, index), "a parameter")
        for key in ("name", "in"):
            if not isinstance(parameter.get(key), str) or not parameter[key]:
                raise ApiProblem(place, f'a parameter has no "{key}"')
        if parameter["in"] not in PLACES:
            hint = "It is path, query, header or cookie; a body is a requestBody."
            raise ApiProblem((*place, "in"), f"a parameter cannot be in {shown(parameter['in'])}", hint)
        yield parameter, place


def _read(
    document: ApiDocument,
    schemas: Schemas,
    place: Place,
    parameter: Mapping[str, Any],
    at: Location,
    arguments: Arguments,
) -> HttpParameter:
    name = parameter["name"]
    media_type, schema, where = _content(document, parameter, at)
    style = parameter.get("style", _STYLES[place][0])
    if style not in _STYLES[place]:
        hint = f"There it is {' or '.join(_STYLES[place])}."
        raise ApiProblem((*at, "style"), f"a parameter in {place} cannot have the style {shown(style)}", hint)
    explode = parameter.get("explode")
    translated = described(
        _with_examples(schemas.translate(schema, where), parameter, document, at),
        parameter.get("description"),
        deprecated=parameter.get("deprecated"),
    )
    required = place == "path" or parameter.get("required") is True
    argument = arguments.add(name, translated, suffix=place, what=_WORDS[place], required=required)
    return {
        "argument": argument,
        "name": name,
        "place": place,
        "style": style,
        "explode": explode if isinstance(explode, bool) else style in ("form", "cookie", "deepObject"),
        "allow_reserved": parameter.get("allowReserved") is True,
        "media_type": media_type,
    }


def _content(document: ApiDocument, parameter: Mapping[str, Any], at: Location) -> tuple[str | None, Any, Location]:
    """The media type (None where a style counts instead), schema and place of a parameter's value."""
    content = parameter.get("content")
    if not content:
        return None, parameter.get("schema", {}), (*at, "schema")
    if not isinstance(content, Mapping) or len(content) != 1:
        raise ApiProblem((*at, "content"), '"content" of a parameter must name exactly one media type')
    media_type = next(iter(content))
    found, where = document.object_at(content[media_type], (*at, "content", media_type), "a media type")
    return media_type, found.get("schema", {}), (*where, "schema")


def _with_examples(schema: Any, parameter: Mapping[str, Any], document: ApiDocument, at: Location) -> Any:
    examples = []
    if "example" in parameter:
        examples.append(parameter["example"])
    elif isinstance(parameter.get("examples"), Mapping):
        for name, value in cast("Mapping[str, Any]", parameter["examples"]).items():
            example, _ = document.follow(value, (*at, "examples", name))
            if isinstance(example, Mapping) and "value" in example:
                examples.append(example["value"])
    return {**schema, "examples": examples} if examples and isinstance(schema, dict) else schema
