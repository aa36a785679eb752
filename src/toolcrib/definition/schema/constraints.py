"""What ``Annotated`` says about a type: pydantic's ``Field``, annotated-types, and plain descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolcrib.definition.injection import Injected

MISSING = object()
_ANNOTATED_TYPES = {
    "Ge": (("ge", "minimum"),),
    "Gt": (("gt", "exclusiveMinimum"),),
    "Le": (("le", "maximum"),),
    "Lt": (("lt", "exclusiveMaximum"),),
    "MultipleOf": (("multiple_of", "multipleOf"),),
    "MinLen": (("min_length", "min"),),
    "MaxLen": (("max_length", "max"),),
    "Interval": (("ge", "minimum"), ("gt", "exclusiveMinimum"), ("le", "maximum"), ("lt", "exclusiveMaximum")),
    "Len": (("min_length", "min"), ("max_length", "max")),
}
_PLAIN_FIELD = frozenset((
    "annotation", "default", "default_factory", "alias", "alias_priority", "validation_alias", "serialization_alias",
    "title", "description", "examples", "metadata", "repr", "init", "kw_only", "frozen",
))  # fmt: skip
_FITTING = {
    "int": ("ge", "gt", "le", "lt", "multiple_of"),
    "float": ("ge", "gt", "le", "lt", "multiple_of"),
    "str": ("min_length", "max_length", "pattern"),
    "list": ("min_length", "max_length"),
}


class Facts:
    """What is known of a parameter or a field besides its type.

    Attributes:
        description: for the model.
        default, default_factory: from pydantic's ``Field``.
        alias: the name that the model sees.
        examples: values that fit.
        injected: the mark of a parameter that the service fills.
        limits: pydantic-core's name of a constraint → (JSON Schema's name, value).
        plain: whether nothing was said that only pydantic understands.

    Most parameters have none, so the defaults are the class's and an instance holds only what was said.
    """

    description: str | None = None
    default: Any = MISSING
    default_factory: Any = None
    alias: str | None = None
    examples: list[Any] | None = None
    injected: Injected | None = None
    limits: Mapping[str, tuple[str, Any]] = {}
    plain: bool = True

    def applied(self, json: dict[str, Any], core: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The two schemas with the constraints and texts added; ``json`` may be changed for it.

        Raises:
            UnknownTypeError: a constraint that does not belong to this type, or that only pydantic understands.
        """
        if not self.limits and self.plain and not self.examples:
            if self.description:
                json["description"] = self.description
            return json, core
        if not self.plain or any(name not in _FITTING.get(core["type"], ()) for name in self.limits):
            from toolcrib.definition.schema.types import UnknownTypeError

            raise UnknownTypeError(self)
        suffix = "Items" if core["type"] == "list" else "Length"
        shown = {name + suffix if name in ("min", "max") else name: value for name, value in self.limits.values()}
        if self.description:
            shown["description"] = self.description
        if self.examples:
            shown["examples"] = self.examples
        return {**json, **shown}, {**core, **{name: value for name, (_, value) in self.limits.items()}}


def is_field(value: Any) -> bool:
    """Whether it is what pydantic's ``Field(…)`` gives; asked without importing pydantic."""
    return type(value).__name__ == "FieldInfo" and type(value).__module__ == "pydantic.fields"


def read_metadata(facts: Facts, metadata: Iterable[Any]) -> None:
    """Add what each item of an ``Annotated`` says to ``facts``."""
    for item in metadata:
        if isinstance(item, Injected):
            facts.injected = item
        elif item is Injected:
            facts.injected = Injected()
        elif isinstance(item, str):
            facts.description = facts.description or item
        elif is_field(item):
            read_field(facts, item)
        elif isinstance(documentation := getattr(item, "documentation", None), str):
            facts.description = documentation
        else:
            _read_limit(facts, item)


def read_field(facts: Facts, info: Any) -> None:
    """Add what pydantic's ``Field`` says; what we do not know of it makes the parameter pydantic's."""
    facts.description = info.description or facts.description
    facts.examples = info.examples or facts.examples
    if not info.is_required():
        facts.default_factory = info.default_factory
        facts.default = MISSING if info.default_factory is not None else info.default
    alias = info.validation_alias if info.validation_alias is not None else info.alias
    if isinstance(alias, str):
        facts.alias = alias
    elif alias is not None:
        facts.plain = False
    if not set(info._attributes_set) <= _PLAIN_FIELD | {name for names in _FITTING.values() for name in names}:
        facts.plain = False
    for item in info.metadata:
        _read_limit(facts, item)


def _read_limit(facts: Facts, item: Any) -> None:
    module, name = type(item).__module__, type(item).__name__
    if module == "annotated_types" and name in _ANNOTATED_TYPES:
        for attribute, keyword in _ANNOTATED_TYPES[name]:
            value = getattr(item, attribute)
            if value is not None and not (attribute == "min_length" and value == 0):
                if not isinstance(value, (int, float)):
                    facts.plain = False
                facts.limits = {**facts.limits, attribute: (keyword, value)}
    elif name == "PydanticGeneralMetadata" and set(item.__dict__) == {"pattern"} and isinstance(item.pattern, str):
        facts.limits = {**facts.limits, "pattern": ("pattern", item.pattern)}
    elif module != "builtins":
        facts.plain = False
