"""Types with named members: dataclasses and typed dictionaries."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from toolcrib.definition import docstrings
from toolcrib.definition.schema import conversions
from toolcrib.definition.schema.callables import UnresolvedNameError
from toolcrib.definition.schema.constraints import MISSING, is_field
from toolcrib.definition.schema.types import Core, Json, Pair, UnknownTypeError

if TYPE_CHECKING:
    from toolcrib.definition.schema.types import Types


def convert(types: Types, kind: type[Any]) -> Pair:
    """The schemas of a dataclass or a typed dictionary.

    Raises:
        UnknownTypeError: it is neither, or has settings that only pydantic understands.
    """
    if _is_pydantic(kind):
        raise UnknownTypeError(kind)
    if dataclasses.is_dataclass(kind):
        return types.reference(kind, lambda: _dataclass(types, kind))
    if is_typed_dict(kind):
        return types.reference(kind, lambda: _typed_dict(types, kind))
    raise UnknownTypeError(kind)


def is_typed_dict(kind: Any) -> bool:
    """Whether it is a ``TypedDict``, of typing or of typing_extensions."""
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def _is_pydantic(kind: type[Any]) -> bool:
    return any(
        hasattr(kind, name)
        for name in ("__pydantic_validator__", "__pydantic_config__", "__get_pydantic_core_schema__")
    )


def hints_of(kind: type[Any]) -> dict[str, Any]:
    """The annotations of a class, evaluated.

    Raises:
        UnresolvedNameError: one of them names something that does not exist.
    """
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise UnresolvedNameError(
            f"{kind.__name__} has an annotation with the unknown name {error.name!r}",
            hint="Define or import it in the module of the class.",
        ) from error


def _dataclass(types: Types, kind: type[Any]) -> Pair:
    hints = hints_of(kind)
    members = Members(types)
    for one in dataclasses.fields(kind):
        if not one.init:
            continue
        default = one.default if one.default is not dataclasses.MISSING else MISSING
        factory = one.default_factory if one.default_factory is not dataclasses.MISSING else None
        members.add(one.name, hints[one.name], default, required=default is MISSING and factory is None)
    json, core = members.finish(kind)
    function = {"type": "no-info", "function": conversions.build(kind)}
    return json, {"type": "function-wrap", "function": function, "schema": core}


def _typed_dict(types: Types, kind: type[Any]) -> Pair:
    members = Members(types)
    for name, hint, required in members_of(kind):
        members.add(name, hint, MISSING, required=required)
    return members.finish(kind)


def members_of(kind: Any) -> Iterator[tuple[str, Any, bool]]:
    """Name, annotation and whether it must be given, of each member of a typed dictionary."""
    for name, hint in hints_of(kind).items():
        required = name in kind.__required_keys__
        while (qualifier := getattr(typing.get_origin(hint), "_name", "")) in (*_REQUIRED, "ReadOnly"):
            required = _REQUIRED.get(qualifier, required)
            (hint,) = typing.get_args(hint)
        yield name, hint, required


_REQUIRED = {"Required": True, "NotRequired": False}


class Members:
    """Collects the members of one object's schemas."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self.properties: dict[str, Json] = {}
        self.required: list[str] = []
        self.fields: dict[str, Core] = {}

    def add(self, name: str, hint: Any, default: Any, *, required: bool) -> None:
        """Add a member whose default, where it has one, its class fills in."""
        kind, facts = self._types.annotated(hint)
        if is_field(default):
            raise UnknownTypeError(hint)
        json, core = facts.applied(*self._types.convert(kind))
        shown = facts.alias or name
        if default is not MISSING:
            json = with_default(json, default)
        self.properties[shown] = json
        if required:
            self.required.append(shown)
        entry: Core = {"type": "typed-dict-field", "schema": core, "required": required}
        if facts.alias:
            entry["validation_alias"] = facts.alias
        self.fields[name] = entry

    def finish(self, kind: type[Any]) -> Pair:
        """The object's schemas, described by the docstring of its class."""
        json: Json = {"type": "object"}
        docs = docstrings.parse(_own_docstring(kind))
        if docs.description:
            json["description"] = docs.description.split("\n\n")[0].replace("\n", " ")
        for name, text in docs.parameters.items():
            if name in self.properties:
                self.properties[name].setdefault("description", text)
        json |= {"properties": self.properties, "required": self.required}
        extra = "forbid" if self._types.closed else "ignore"
        return json, {"type": "typed-dict", "fields": self.fields, "extra_behavior": extra}


def with_default(json: Json, default: Any) -> Json:
    """The schema, which now shows the default where JSON can."""
    shown, value = conversions.jsonable_default(default)
    if shown:
        json["default"] = value
    return json


def _own_docstring(kind: type[Any]) -> str | None:
    text = kind.__dict__.get("__doc__")
    if not text or (dataclasses.is_dataclass(kind) and text.startswith(f"{kind.__name__}(")):
        return None
    return str(text)
