"""Whether the arguments of a call fit the tool, on every road into it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolcrib.definition.injection import injections, without
from toolcrib.definition.schema.check import Check, Compiler, compile_check
from toolcrib.definition.schema.coerce import Coercion
from toolcrib.definition.schema.describe import Problem, got, listed, unknown_key
from toolcrib.definition.schema.keywords import UNSUPPORTED
from toolcrib.definition.schema.references import followed
from toolcrib.errors import DefinitionError, InvalidParamsError

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

MOST_LINES = 5
_WRAPPERS = ("arguments", "parameters", "kwargs", "input")
_BRANCHES = ("allOf", "anyOf", "oneOf")


def validate(
    tool: ToolDefinition, arguments: Mapping[str, Any] | None, notes: list[str] | None = None
) -> dict[str, Any]:
    """The arguments as the tool may be given them, still JSON; the caller's mapping is not changed (contract N006).

    What fits is never changed. What does not fit is repaired where nothing is lost (``"3"`` for an integer, JSON text
    for an array), and each repair is noted.

    Args:
        tool: the tool.
        arguments: what was sent; None = no arguments.
        notes: receives what was done, such as ``"coerced:limit"`` or ``"ignored:color"``.

    Raises:
        InvalidParamsError: with at most five lines ``path: expected …, got …``.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> schema = {"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]}
        >>> notes: list[str] = []
        >>> validate(ToolDefinition("search", "Searches.", schema), {"limit": "3"}, notes), notes
        ({'limit': 3}, ['coerced:limit'])
    """
    return validator_of(tool).prepare(arguments, notes)[0]


def validator_of(tool: ToolDefinition) -> Validator:
    """The tool's validator, compiled when first used."""
    validator = tool._validator
    if validator is None or validator.source is not tool.parameters:
        validator = tool._validator = Validator(tool)
    return validator


def validate_output(schema: Mapping[str, Any] | None, value: Any) -> list[str]:
    """What is wrong with a tool's result, as lines ``path: expected …, got …``; empty = it fits its output schema."""
    return [] if schema is None else output_check(schema)(value)


def output_check(schema: Mapping[str, Any]) -> Callable[[Any], list[str]]:
    """`validate_output` for one schema, compiled once for many results."""
    check = compile_check(schema)

    def problems(value: Any) -> list[str]:
        try:
            found = check(value)
        except RecursionError:
            return ["result: nested too deeply to be checked"]
        return [str(problem).replace("arguments: ", "result: ", 1) for problem in found or ()][:MOST_LINES]

    return problems


class Validator:
    """Checks, repairs and binds the arguments of one tool.

    Args:
        tool: the tool.

    Raises:
        DefinitionError: its schema cannot be used.
    """

    __slots__ = (
        "_check",
        "_compiler",
        "_injected",
        "_known",
        "_required",
        "_signature",
        "_strict_keys",
        "_thorough",
        "name",
        "schema",
        "source",
    )

    def __init__(self, tool: ToolDefinition) -> None:
        self.name = tool.name
        self.source = tool.parameters
        self._injected = injections(tool)
        self._signature = tool.signature if tool.signature is not None and tool.signature.typed else None
        self._check: Check | None = None
        try:
            self.schema = without(self.source, self._injected)
            self._compiler = Compiler(self.schema, exact=True)
            self._known = declared_keys(self.schema)
            self._thorough = _thorough_check(self.schema)
        except (AttributeError, TypeError, ValueError) as error:
            raise self._unusable(error) from error
        self._required = self.schema.get("required") or ()
        self._strict_keys = tool.effects in ("write", "external") or self.schema.get("additionalProperties") is False

    def _problems_of(self, arguments: Any) -> Sequence[Problem]:
        """What the schema says is wrong; compiled when first needed, which for a typed function is its first error."""
        if self._check is None:
            try:
                self._check = self._compiler.compile(self.schema) or _anything
            except (AttributeError, TypeError, ValueError) as error:
                raise self._unusable(error) from error
        return self._check(arguments) or ()

    def _unusable(self, error: Exception) -> DefinitionError:
        return DefinitionError(
            f"The schema of the tool {self.name!r} cannot be used: {error}",
            hint="Correct its parameters to a JSON Schema of an object.",
        )

    def prepare(
        self, arguments: Mapping[str, Any] | None, notes: list[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments as JSON, and as the handler gets them (instances where it has types).

        Raises:
            InvalidParamsError: they do not fit, even after lossless repair.
        """
        unfit = None
        if type(arguments) is dict:
            try:
                return dict(arguments), self._values(arguments)
            except (_Unfit, RecursionError) as error:
                unfit = error
        return self._repair(arguments, notes, unfit)

    def values(self, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        """What the handler gets; as `prepare`, for those who need nothing else."""
        unfit = None
        if type(arguments) is dict:
            try:
                return self._values(arguments)
            except (_Unfit, RecursionError) as error:
                unfit = error
        return self._repair(arguments, None, unfit)[1]

    def _repair(
        self, arguments: Mapping[str, Any] | None, notes: list[str] | None, unfit: Exception | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        known = unfit if isinstance(unfit, _Unfit) else None
        try:
            return self._repaired({} if arguments is None else arguments, [] if notes is None else notes, known)
        except RecursionError:
            raise InvalidParamsError(f"The arguments of {self.name} are nested too deeply") from None

    def _values(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the handler gets for arguments that fit exactly."""
        if self._signature is not None:
            try:
                return self._signature.values(arguments)
            except (RecursionError, DefinitionError):
                raise
            except Exception as error:  # the tool's own validators may raise anything
                raise _Unfit(cause=error) from None
        if self._known is not None and not arguments.keys() <= self._known.keys():
            raise _Unfit
        problems = self._problems_of(arguments) or (self._thorough(arguments) if self._thorough else ())
        if problems:
            raise _Unfit(problems)
        return dict(arguments)

    def _repaired(
        self, arguments: Any, notes: list[str], unfit: _Unfit | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """As `prepare`; ``unfit`` says why the arguments do not fit as they are, where that is known."""
        if type(arguments) is not dict and not isinstance(arguments, Mapping):
            raise self._error([Problem((), "object", got(arguments), "type")])
        unwrapped = self._unwrapped(arguments, notes)
        if unwrapped is not None:
            return unwrapped
        done: list[str] = []
        kept, unknown = self._known_only(arguments, done)
        repaired = self._coerced(kept, done)
        if (
            unfit is None
            or len(repaired) < len(arguments)
            or any(one is not arguments[key] for key, one in repaired.items())
        ):
            unfit = None
            try:
                values = self._values(repaired)
            except _Unfit as error:
                unfit = error
        if unfit is not None:
            lenient = self._signature.lenient(repaired, unfit.cause) if self._signature and unfit.cause else None
            if lenient is None:
                raise self._error([*self._explained(repaired, unfit), *unknown])
            values = lenient
        if unknown and self._strict_keys:
            raise self._error(unknown)
        notes.extend(done)
        return repaired, values

    def _known_only(self, arguments: Mapping[str, Any], notes: list[str]) -> tuple[dict[str, Any], list[Problem]]:
        """The arguments without what is not the model's to set, and the problems of unknown keys."""
        kept: dict[str, Any] = {}
        unknown: list[Problem] = []
        for key, value in arguments.items():
            if key in self._injected:
                notes.append(f"ignored:{key}")
            elif not isinstance(key, str):
                raise self._error([Problem((), "names as keys", f"the key {key!r}", "propertyNames")])
            elif self._known is None or key in self._known:
                kept[key] = value
            else:
                missing = [name for name in self._required if name not in arguments]
                unknown.append(unknown_key(key, list(self._known), missing))
                notes.append(f"ignored:{key}")
        return kept, unknown

    def _coerced(self, arguments: dict[str, Any], notes: list[str]) -> dict[str, Any]:
        coercion = Coercion(self._compiler, notes)
        candidates: list[Any] = [self.schema]
        for keyword in ("anyOf", "oneOf"):
            candidates.extend(self.schema.get(keyword) or ())
        before = len(notes)
        for candidate in candidates:
            part = followed(self.schema, candidate)
            if isinstance(part, Mapping):
                repaired = coercion.properties(part, arguments)
                if len(candidates) == 1 or not self._problems_of(repaired):
                    return repaired
            del notes[before:]
        return arguments

    def _unwrapped(
        self, arguments: Mapping[str, Any], notes: list[str]
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The arguments that were sent one level too deep, where what is inside fits without loss."""
        if len(arguments) != 1 or self._known is None:
            return None
        ((key, inner),) = arguments.items()
        if key not in _WRAPPERS or key in self._known or not isinstance(inner, Mapping):
            return None
        if not inner.keys() <= self._known.keys():
            return None
        done = [f"unwrapped:{key}"]
        try:
            result = self._repaired(inner, done)
        except InvalidParamsError:
            return None
        notes.extend(done)
        return result

    def _explained(self, arguments: dict[str, Any], unfit: _Unfit) -> Sequence[Problem]:
        """What the schema says about it, then what only the function's own types say."""
        found = unfit.problems
        if unfit.cause is not None:
            from toolcrib.definition.schema import errors

            found = list(self._problems_of(arguments))
            found += errors.problems(unfit.cause, arguments, [problem.path for problem in found])
        return found or [Problem((), "other arguments", got(arguments), "type")]

    def _error(self, problems: Sequence[Problem]) -> InvalidParamsError:
        lines = [str(problem) for problem in problems]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1 :] = [f"… and {len(lines) - MOST_LINES + 1} more"]
        names = [f"{name} (required)" if name in self._required else name for name in self._known or ()]
        return InvalidParamsError("\n".join(lines), hint=f"{self.name} takes {listed(names)}." if names else None)


def _anything(value: Any) -> None:
    return None


class _Unfit(Exception):
    """Arguments that do not fit exactly; ``cause`` is what the function's own types said."""

    def __init__(self, problems: Sequence[Problem] = (), cause: Exception | None = None) -> None:
        super().__init__()
        self.problems = problems
        self.cause = cause


def declared_keys(schema: Mapping[str, Any]) -> Mapping[str, None] | None:
    """The names that an object's schema has, in order; None = any name may be sent."""
    names: dict[str, None] = {}
    waiting: list[Any] = [schema]
    seen: set[int] = set()
    says_something = False
    while waiting:
        part = followed(schema, waiting.pop(0))
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        if part.get("additionalProperties", False) is not False or "patternProperties" in part:
            return None
        if "properties" in part or part.get("additionalProperties") is False:
            says_something = True
            names.update(dict.fromkeys(part.get("properties") or {}))
        for keyword in _BRANCHES:
            waiting.extend(part.get(keyword) or ())
        waiting.extend(part[keyword] for keyword in ("then", "else") if keyword in part)
        waiting.extend((part.get("dependentSchemas") or {}).values())
    return names if says_something else None


def _thorough_check(schema: Mapping[str, Any]) -> Callable[[Any], list[Problem]] | None:
    """A check by a full validator, for schemas with keywords that ours does not know, where one is installed."""
    if not _mentions(schema, UNSUPPORTED):
        return None
    try:
        import jsonschema_rs
    except ImportError:
        return None
    try:
        validator = jsonschema_rs.validator_for(dict(schema))
    except ValueError as error:
        raise DefinitionError(f"The schema cannot be used: {error}") from error

    def check(value: Any) -> list[Problem]:
        try:
            return [
                Problem(
                    tuple(error.instance_path), f"a value for which {error.message} does not hold", "it", "unevaluated"
                )
                for error in validator.iter_errors(value)
            ]
        except ValueError:
            return []

    return check


def _mentions(schema: Any, keywords: Collection[str]) -> bool:
    if isinstance(schema, Mapping):
        return any(key in keywords or _mentions(value, keywords) for key, value in schema.items())
    return isinstance(schema, list) and any(_mentions(one, keywords) for one in schema)
