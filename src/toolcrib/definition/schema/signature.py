"""How a typed function is called, and what schema its parameters make (contract N048)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.definition.schema import callables
from toolcrib.errors import DefinitionError

if TYPE_CHECKING:
    from toolcrib.definition.docstrings import Docstring
    from toolcrib.definition.schema.reader import Compiled


class Signature:
    """A typed function as a tool; everything is read when first needed and kept.

    Args:
        function: what is called.
        name: the tool's, for error messages.
        closed: whether objects refuse members that they do not have (tools that write).
        injected: further injected parameters: parameter → attribute of the `Context`.
        parameters: a schema written by hand; the function gets what it says as keyword arguments.

    Raises:
        DefinitionError: an annotation that only the enclosing function can explain means nothing there.
    """

    __slots__ = (
        "_closed",
        "_compiled",
        "_docs",
        "_explicit",
        "_injected",
        "_local_names",
        "_output",
        "_validator",
        "function",
        "name",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        *,
        closed: bool = False,
        injected: Mapping[str, str] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.function = function
        self.name = name
        self._closed = closed
        self._injected = injected
        self._explicit = parameters
        self._compiled: Compiled | None = None
        self._docs: Docstring | None = None
        self._validator: Any = None
        self._local_names: Mapping[str, Any] = {}
        self._output: tuple[Mapping[str, Any] | None] | None = None
        inner = callables.inner_function(function)
        names = callables.local_names(inner)
        if names is not None:
            self._local_names = names
            self.compile()
            self._output = (self.output_schema,)
            self._local_names = {}

    @property
    def typed(self) -> bool:
        """Whether its own types validate; false where the schema was written by hand."""
        return self._explicit is None

    @property
    def description(self) -> str:
        """The docstring's text before its sections."""
        return self.docs.description

    @property
    def docs(self) -> Docstring:
        """The docstring, read."""
        if self._docs is None:
            from toolcrib.definition.docstrings import parse

            self._docs = parse(callables.docstring_of(self.function))
        return self._docs

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of what a model may send."""
        return self.compile().parameters if self._explicit is None else self._explicit

    @property
    def injected(self) -> Mapping[str, str]:
        """Parameters that the service fills."""
        return self.compile().injected

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of the result, where the return annotation says something about it."""
        if self._output is None:
            from toolcrib.definition.schema.reader import Reader

            self._output = (Reader(self.function, self._closed, self._local_names).output(),)
        return self._output[0]

    @property
    def takes_names(self) -> bool:
        """Whether every parameter can be given by its name."""
        compiled = self.compile()
        return not compiled.positional and compiled.variadic is None

    def has_default(self, parameter: str) -> bool:
        """Whether the function can be called without it."""
        return parameter in self.compile().defaults

    def compile(self) -> Compiled:
        """Read the function's parameters.

        Raises:
            DefinitionError: naming the tool, the parameter and what is wrong.
        """
        if self._compiled is None:
            try:
                self._compiled = self._read()
            except DefinitionError as error:
                raise DefinitionError(f"The tool {self.name!r} cannot be defined: {error}", hint=error.hint) from error
        return self._compiled

    def _read(self) -> Compiled:
        from toolcrib.definition.schema.reader import Reader

        texts = self.docs.parameters
        reader = Reader(self.function, self._closed, self._local_names)
        return reader.read(texts, self._injected or {}, typed=self.typed)

    def values(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The values of the function's parameters, instances where its types say so.

        Raises:
            pydantic_core.ValidationError: the arguments do not fit exactly; `schema.errors` explains it.
        """
        compiled = self.compile()
        validator = self._validator or self._build()
        if not compiled.by_pydantic:
            values: dict[str, Any] = validator.validate_python(arguments)
        else:
            values = self._as_json(arguments, strict=True)
        for name, make in compiled.fills.items():
            if name not in values:
                values[name] = make()
        return values

    def lenient(self, arguments: dict[str, Any], cause: Exception) -> dict[str, Any] | None:
        """The values by pydantic's own conversions, where nothing but text stood in the way of the strict ones."""
        if not self.compile().by_pydantic:
            return None
        from pydantic_core import ValidationError

        if not isinstance(cause, ValidationError):
            return None
        if not all(
            isinstance(one["input"], str) and one["type"] != "string_type" for one in cause.errors(include_url=False)
        ):
            return None
        try:
            return self._as_json(arguments, strict=None)
        except ValueError:
            return None

    def _as_json(self, arguments: dict[str, Any], *, strict: bool | None) -> dict[str, Any]:
        from pydantic_core import PydanticSerializationError, to_json

        try:
            text = to_json(arguments, bytes_mode="base64")
        except PydanticSerializationError:
            result: dict[str, Any] = self._validator.validate_python(arguments)
        else:
            result = self._validator.validate_json(text, strict=strict)
        return result

    def _build(self) -> Any:
        from pydantic_core import SchemaError, SchemaValidator

        compiled = self.compile()
        core = compiled.core_schema()
        if self._validator is not None:
            return self._validator  # built by another thread, which then cleared what it was made of
        try:
            self._validator = SchemaValidator(core)
        except SchemaError as error:
            raise DefinitionError(f"The tool {self.name!r} cannot be defined: {error}") from error
        compiled.members, compiled.definitions, compiled.extras = [], [], None
        return self._validator

    def placed(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Values by parameter as positional and keyword arguments."""
        compiled = self.compile()
        if not compiled.positional and compiled.variadic is None:
            return (), values
        rest = values.pop(compiled.variadic, ()) if compiled.variadic is not None else ()
        positional = [
            values.pop(name) if name in values else compiled.defaults[name]
            for index, name in enumerate(compiled.positional)
            if rest or any(one in values for one in compiled.positional[index:])
        ]
        return (*positional, *rest), values
