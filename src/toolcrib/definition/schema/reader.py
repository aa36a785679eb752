"""Reading the parameters of a typed function, once."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolcrib.definition.context import Context
from toolcrib.definition.injection import WHOLE_CONTEXT, Injected
from toolcrib.definition.result import ToolResult
from toolcrib.definition.schema import callables, foreign
from toolcrib.definition.schema.callables import (
    EMPTY,
    KEYWORD,
    KEYWORDS,
    POSITIONAL_ONLY,
    VARIADIC,
    Parameter,
    UnresolvedNameError,
)
from toolcrib.definition.schema.constraints import MISSING, Facts, is_field, read_field
from toolcrib.definition.schema.structures import is_typed_dict, members_of, with_default
from toolcrib.definition.schema.types import Types, UnknownTypeError
from toolcrib.errors import DefinitionError

Json = dict[str, Any]
_CONTEXT_OR_NONE = Context | None
OMITTED = object()
"""The default of a parameter that need not be given and has none: a member of ``**kwargs: Unpack[…]``."""


class Member(NamedTuple):
    """One parameter in pydantic-core's terms, small because most tools are shown far more often than called."""

    name: str
    schema: Any
    required: bool
    alias: str | None = None

    def field(self) -> dict[str, Any]:
        """As a field of a typed dictionary; pydantic's own fields only learn whether they are required."""
        if self.schema["type"] == "typed-dict-field":
            return {**self.schema, "required": self.required}
        entry = {"type": "typed-dict-field", "schema": self.schema, "required": self.required}
        return {**entry, "validation_alias": self.alias} if self.alias else entry


@dataclass(slots=True)
class Compiled:
    """What was read from a function.

    Attributes:
        parameters: JSON Schema of what a model may send.
        members: pydantic-core's schemas of the parameters, until they have become a validator.
        extras: the schema of ``**kwargs``.
        definitions: what the members refer to.
        by_pydantic: whether pydantic made a part of it; then values are validated as JSON.
        injected: parameter → attribute of the `Context`.
        defaults: parameters that need not be given.
        fills: parameters whose default only pydantic's ``Field`` knows → what makes it.
        positional: parameters that have to be given by position, in order.
        variadic: the name of ``*args``.
    """

    parameters: Json
    members: list[Member] = field(default_factory=list)
    extras: Any = None
    definitions: list[Any] = field(default_factory=list)
    by_pydantic: bool = False
    injected: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)
    fills: dict[str, Callable[[], Any]] = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    variadic: str | None = None

    def core_schema(self) -> Any:
        """pydantic-core's schema of the arguments."""
        core: Json = {
            "type": "typed-dict",
            "fields": {one.name: one.field() for one in self.members},
            "extra_behavior": "forbid",
        }
        if self.extras is not None:
            core |= {"extra_behavior": "allow", "extras_schema": self.extras}
        return {"type": "definitions", "schema": core, "definitions": self.definitions} if self.definitions else core


class Reader:
    """Reads one function.

    Args:
        function: what is called.
        closed: whether objects refuse members that they do not have.
        local_names: what annotations that are text may name besides the function's globals.
    """

    def __init__(self, function: Callable[..., Any], closed: bool, local_names: Mapping[str, Any]) -> None:
        self._function = function
        self._inner = callables.inner_function(function)
        self._types = Types(callables.resolver(self._inner, local_names), closed=closed)
        self._foreign: dict[str, Any] = {}
        self._facts: dict[str, Facts] = {}
        self._json: Json = {"type": "object", "properties": {}, "required": []}
        self._compiled = Compiled(self._json)

    def read(self, texts: Mapping[str, str], injected: Mapping[str, str], *, typed: bool) -> Compiled:
        """Read the parameters.

        Args:
            texts: what the docstring says about them.
            injected: parameters that are injected without saying so themselves.
            typed: whether their types make the schema; else only which are injected is read.

        Raises:
            DefinitionError: naming the parameter and what is wrong.
        """
        compiled = self._compiled
        compiled.injected.update(injected)
        parameters = self._unpacked(callables.parameters_of(self._function))
        for parameter in parameters:
            try:
                self._parameter(parameter, texts.get(parameter.name), typed=typed)
            except UnresolvedNameError as error:
                raise DefinitionError(f"the parameter {parameter.name!r} has {error}", hint=error.hint) from error
        self._order(parameters)
        if typed:
            self._finish(parameters)
        return compiled

    def _unpacked(self, parameters: list[Parameter]) -> list[Parameter]:
        """The parameters, with the members of a typed dictionary in place of ``**kwargs: Unpack[…]``."""
        if not parameters or parameters[-1].kind is not KEYWORDS:
            return parameters
        *others, last = parameters
        try:
            annotation, _ = self._types.annotated(last.annotation)
        except UnresolvedNameError:  # `_parameter` says so
            return parameters
        (kind,) = typing.get_args(annotation) or (None,)
        if getattr(typing.get_origin(annotation), "_name", "") != "Unpack" or not is_typed_dict(kind):
            return parameters
        return others + [
            Parameter(name, KEYWORD, hint, EMPTY if required else OMITTED) for name, hint, required in members_of(kind)
        ]

    def _parameter(self, parameter: Parameter, text: str | None, *, typed: bool) -> None:
        name, kind, annotation, default = parameter
        compiled = self._compiled
        if default is not EMPTY:
            compiled.defaults[name] = default
        if name in compiled.injected:
            return
        plain, facts = self._types.annotated(Any if annotation is EMPTY else annotation)
        if is_field(default):
            compiled.defaults.pop(name)
            read_field(facts, default)
            default = EMPTY
        if self._is_injected(name, plain, facts, default) or not typed:
            return
        facts.description = facts.description or text
        if kind is KEYWORDS:
            extra, compiled.extras = self._convert(name, plain, Facts())
            if self._foreign.pop(name, None) is not None:
                compiled.extras = {"type": "any"}
            self._json["additionalProperties"] = extra or True
        elif kind is VARIADIC:
            json, core = self._convert(name, list.__class_getitem__(plain), facts)
            self._add(name, json, core, facts, required=False)
        else:
            self._named(name, default, plain, facts)

    def _named(self, name: str, default: Any, plain: Any, facts: Facts) -> None:
        if default is EMPTY:
            default = facts.default
        else:
            facts.default, facts.default_factory = MISSING, None
        json, core = self._convert(name, plain, facts)
        if facts.default is not MISSING:
            self._compiled.fills[name] = _always(facts.default)
        elif facts.default_factory is not None:
            self._compiled.fills[name] = facts.default_factory
        if default is None and json and core and not _allows_null(json):
            json = {
                "anyOf": [{k: v for k, v in json.items() if k != "description"}, {"type": "null"}],
                **_description(json),
            }
            core = {"type": "nullable", "schema": core}
        if default is not MISSING and json is not None:
            json = with_default(json, default)
        self._add(name, json, core, facts, required=default is MISSING and facts.default_factory is None)

    def _is_injected(self, name: str, plain: Any, facts: Facts, default: Any) -> bool:
        mark: Any = facts.injected
        for one in (plain, default):
            if one is Injected or type(one) is Injected:
                mark = one
        if mark is not None:
            self._compiled.injected[name] = mark.source(name) if isinstance(mark, Injected) else name
            if mark is default:
                self._compiled.defaults.pop(name, None)
            return True
        if plain is Context or (Context in getattr(plain, "__args__", ()) and plain == _CONTEXT_OR_NONE):
            self._compiled.injected[name] = WHOLE_CONTEXT
            return True
        return False

    def _convert(self, name: str, plain: Any, facts: Facts) -> tuple[Any, Any]:
        """The two schemas, or nothing for what is left to pydantic."""
        try:
            return facts.applied(*self._types.convert_whole(plain))
        except UnknownTypeError:
            self._foreign[name] = plain
            return None, None

    def _add(self, name: str, json: Json | None, core: Any, facts: Facts, *, required: bool) -> None:
        shown = facts.alias or name
        self._facts[name] = facts
        if required:
            self._json["required"].append(shown)
        if json is not None:
            self._json["properties"][shown] = json
            self._compiled.members.append(Member(name, core, required, facts.alias))

    def _order(self, parameters: list[Parameter]) -> None:
        """Which parameters have to be given by position: those that must, and those before ``*args``."""
        kinds = [one.kind for one in parameters]
        if VARIADIC in kinds:
            last = kinds.index(VARIADIC)
            self._compiled.variadic = parameters[last].name
        else:
            last = kinds.count(POSITIONAL_ONLY)
        self._compiled.positional = tuple(one.name for one in parameters[:last])

    def _finish(self, parameters: list[Parameter]) -> None:
        definitions, core_definitions = self._types.definitions, self._types.core_definitions
        if self._foreign:
            self._compiled.by_pydantic = True
            self._take_foreign(definitions, core_definitions, parameters)
        if definitions:
            self._json["$defs"] = definitions
        self._compiled.definitions = core_definitions

    def _take_foreign(self, definitions: dict[str, Json], cores: list[Any], parameters: list[Parameter]) -> None:
        """Add the parameters that pydantic knows, in their order among the others."""
        annotations = {one.name: self._for_pydantic(one) for one in parameters if one.name in self._foreign}
        found = foreign.convert(annotations, definitions)
        properties: dict[str, Json] = {}
        for parameter in parameters:
            facts = self._facts.get(parameter.name)
            if facts is None:
                continue
            shown = facts.alias or parameter.name
            if parameter.name not in self._foreign:
                properties[shown] = self._json["properties"][shown]
                continue
            json = found.properties[shown]
            if facts.description and "description" not in json:
                json["description"] = facts.description
            if parameter.default is not EMPTY and not is_field(parameter.default):
                json = with_default(json, parameter.default)
            properties[shown] = json
            required = shown in self._json["required"]
            self._compiled.members.append(Member(parameter.name, found.fields[parameter.name], required))
        self._json["properties"] = properties
        definitions.update(found.definitions)
        cores.extend(found.core_definitions)

    def _for_pydantic(self, parameter: Parameter) -> Any:
        annotation = self._foreign[parameter.name]
        original = parameter.annotation
        if isinstance(original, str):
            original = self._types.resolve(original)
        if typing.get_origin(original) is typing.Annotated:
            annotation = typing.Annotated[(annotation, *_without_marks(typing.get_args(original)[1:]))]
        if parameter.kind is VARIADIC:
            annotation = self._foreign[parameter.name]
        if is_field(parameter.default):
            return typing.Annotated[annotation, parameter.default]
        return annotation if parameter.default is not None else typing.Optional[annotation]  # noqa: UP045

    def output(self) -> Mapping[str, Any] | None:
        """The schema of what the function returns; None where nothing is known, and never an error."""
        annotation = getattr(self._inner, "__annotations__", {}).get("return")
        try:
            kind, _ = self._types.annotated(annotation)
            kind = _returned(self._inner, kind)
            if kind in (None, type(None), Any, object, EMPTY, ToolResult):
                return None
            json, _ = self._types.convert(kind)
        except UnknownTypeError:
            try:
                return foreign.output_schema(kind)
            except Exception:  # a type that no schema can be made of says nothing
                return None
        except DefinitionError:
            return None
        return {**json, "$defs": self._types.definitions} if self._types.definitions else json


def _returned(function: Any, kind: Any) -> Any:
    """What arrives at the caller: awaited, and collected where the function is a generator."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (collections.abc.Awaitable, collections.abc.Coroutine) and arguments:
        return arguments[-1]
    generators = (inspect.isgeneratorfunction(function), inspect.isasyncgenfunction(function))
    if any(generators):
        if origin is collections.abc.Generator and len(arguments) == 3 and arguments[2] not in (None, type(None), Any):
            return arguments[2]
        return list[arguments[0]] if arguments else None  # type: ignore[valid-type]
    return kind


def _allows_null(json: Json) -> bool:
    if not json or json.get("type") == "null" or "default" in json:
        return True
    return any(_allows_null(one) for one in json.get("anyOf", ())) or None in json.get("enum", ())


def _description(json: Json) -> Json:
    return {"description": json["description"]} if "description" in json else {}


def _without_marks(metadata: tuple[Any, ...]) -> list[Any]:
    return [one for one in metadata if not isinstance(one, (str, Injected)) and one is not Injected] or [None]


def _always(value: Any) -> Callable[[], Any]:
    return lambda: value
