"""What a tool's constructor is called with, from the ``config`` of a file (contract W010)."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError


@dataclass(frozen=True, slots=True)
class Constructor:
    """How a class takes its settings.

    Attributes:
        kind: the class.
        model: validates what a file says; unknown keys are errors, unless the class takes any.
        settings: its own ``Config``; None = the parameters of the constructor are the settings.
    """

    kind: type
    model: type[BaseModel]
    settings: type | None = None

    def arguments(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments of the constructor.

        A class with a ``Config`` gets one as ``config``, or its values by name where the constructor has no such
        parameter.

        Raises:
            pydantic.ValidationError: ``config`` does not fit.
            TypeError: the constructor does not take what ``Config`` holds.
        """
        checked = self.model.model_validate(dict(config))
        if self.settings is None:
            return _given(checked)
        if issubclass(self.settings, BaseModel):
            value: Any = self.settings.model_validate(dict(config))
            names = list(self.settings.model_fields)
        else:
            value = self.settings(**_given(checked))
            names = [each.name for each in dataclasses.fields(value)]
        parameters = inspect.signature(self.kind).parameters
        if "config" in parameters:
            return {"config": value}
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        refused = [name for name in names if name not in parameters and not takes_any]
        if refused:
            raise TypeError(
                f"{self.kind.__name__} has a Config with {refused[0]!r}, and its constructor takes neither "
                f"that nor config"
            )
        return {name: getattr(value, name) for name in names}


def constructor_of(kind: type) -> Constructor:
    """How ``kind`` takes its settings: by its ``Config`` (a pydantic model or dataclass), else by its signature.

    Example:
        >>> class Shell:
        ...     def __init__(self, timeout: int = 30) -> None: ...
        >>> constructor_of(Shell).arguments({"timeout": 5})
        {'timeout': 5}
    """
    settings = getattr(kind, "Config", None)
    if isinstance(settings, type) and issubclass(settings, BaseModel):
        return Constructor(kind, _closed(settings), settings)
    if isinstance(settings, type) and dataclasses.is_dataclass(settings):
        return Constructor(kind, _model_of(settings), settings)
    return Constructor(kind, _model_of(kind))


def _closed(settings: type[BaseModel]) -> type[BaseModel]:
    """The same model, which refuses unknown keys unless it says that it takes them."""
    if settings.model_config.get("extra") == "allow":
        return settings
    return type(settings.__name__, (settings,), {"model_config": ConfigDict(extra="forbid"), "__module__": __name__})


def _model_of(kind: type) -> type[BaseModel]:
    """A model of the keyword parameters of ``kind``; their names are aliases, since a field may not have every name."""
    parameters = inspect.signature(kind).parameters.values()
    extra: typing.Literal["allow", "forbid"] = (
        "allow" if any(each.kind is each.VAR_KEYWORD for each in parameters) else "forbid"
    )
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    try:
        return _create(named, _hints(kind), extra)
    except PydanticUserError:  # an annotation that says nothing to pydantic
        return _create(named, {}, extra)


def _create(
    parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any], extra: typing.Literal["allow", "forbid"]
) -> type[BaseModel]:
    fields: dict[str, Any] = {
        f"parameter_{index}": (
            hints.get(each.name, Any),
            Field(... if each.default is each.empty else None, alias=each.name),
        )
        for index, each in enumerate(parameters)
    }
    return create_model("Config", __config__=ConfigDict(extra=extra, arbitrary_types_allowed=True), **fields)


def _hints(kind: Any) -> dict[str, Any]:
    annotated = kind if dataclasses.is_dataclass(kind) else kind.__init__
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError):
        return {}


def _given(checked: BaseModel) -> dict[str, Any]:
    """What the file said, by the parameters' own names."""
    model = type(checked)
    given = {
        str(field.alias): getattr(checked, name)
        for name, field in model.model_fields.items()
        if name in checked.model_fields_set
    }
    return given | (checked.__pydantic_extra__ or {})
