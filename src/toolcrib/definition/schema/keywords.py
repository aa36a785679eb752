"""The keywords of JSON Schema besides ``type`` and ``$ref``.

Each maker returns a check, or None where the schema is silent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolcrib.definition.schema.describe import Problem, expected, got, missing_key, unknown_key

if TYPE_CHECKING:
    from toolcrib.definition.schema.check import Check, Compiler

Problems = list[Problem] | None
Schema = Mapping[str, Any]


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: ``1`` is ``1.0``, but neither is ``true``."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right) if isinstance(left, str) else bool(left == right)


def _constant(_: Compiler, schema: Schema) -> Check | None:
    return _one_of_values(schema, "const", [schema["const"]]) if "const" in schema else None


def _enumeration(_: Compiler, schema: Schema) -> Check | None:
    allowed = schema.get("enum")
    if not isinstance(allowed, Sequence):
        return None
    return _one_of_values(schema, "enum", [*allowed, None] if schema.get("nullable") is True else allowed)


def _one_of_values(schema: Schema, keyword: str, allowed: Sequence[Any]) -> Check:
    texts = frozenset(one for one in allowed if isinstance(one, str))

    def check(value: Any) -> Problems:
        if (type(value) is str and value in texts) or any(same(value, one) for one in allowed):
            return None
        return [Problem((), expected({keyword: schema[keyword]}), got(value), keyword)]

    return check


def _text(_: Compiler, schema: Schema) -> Check | None:
    shortest, longest, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if shortest is None and longest is None and pattern is None:
        return None
    matches = _matcher(pattern) if isinstance(pattern, str) else None

    def check(value: Any) -> Problems:
        if not isinstance(value, str):
            return None
        if shortest is not None and len(value) < shortest:
            return [Problem((), f"at least {shortest} characters", f"{len(value)}: {got(value)}", "minLength")]
        if longest is not None and len(value) > longest:
            return [Problem((), f"at most {longest} characters", f"{len(value)}: {got(value)}", "maxLength")]
        if matches is not None and not matches(value):
            return [Problem((), f"string matching {pattern}", got(value), "pattern")]
        return None

    return check


@functools.lru_cache(maxsize=256)
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text contains the pattern, in linear time where the pattern allows it."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    for engine in ("rust-regex", "python-re"):
        try:
            validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine=engine))
        except SchemaError:
            continue
        return validator.isinstance_python
    return lambda text: True


def _number(_: Compiler, schema: Schema) -> Check | None:
    tests: list[Callable[[Any], bool]] = []
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if above is True:
        low, above = None, low
    if below is True:
        high, below = None, high
    if low is not None:
        tests.append(lambda value: bool(value >= low))
    if high is not None:
        tests.append(lambda value: bool(value <= high))
    if above is not None and not isinstance(above, bool):
        tests.append(lambda value: bool(value > above))
    if below is not None and not isinstance(below, bool):
        tests.append(lambda value: bool(value < below))
    step = schema.get("multipleOf")
    if not tests and step is None:
        return None

    def check(value: Any) -> Problems:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        if not all(test(value) for test in tests):
            return [Problem((), expected(schema), got(value), "minimum")]
        if step is not None and not _is_multiple(value, step):
            return [Problem((), f"a multiple of {step}", got(value), "multipleOf")]
        return None

    return check


def _is_multiple(value: float, step: float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    quotient = value / step
    return abs(quotient - round(quotient)) < 1e-9


def heads_and_rest(schema: Schema) -> tuple[Sequence[Any], Any]:
    """The schemas of an array's first items, and that of all others."""
    rest = schema.get("items", True)
    if isinstance(rest, list):
        return rest, schema.get("additionalItems", True)
    return schema.get("prefixItems") or (), rest


def _array(compiler: Compiler, schema: Schema) -> Check | None:
    first, rest = heads_and_rest(schema)
    heads = [compiler.compile(one) for one in first]
    tail = compiler.compile(rest)
    fewest, most, unique = schema.get("minItems"), schema.get("maxItems"), schema.get("uniqueItems")
    holds = compiler.compile(schema["contains"]) if "contains" in schema else None
    if not any(heads) and tail is None and fewest is None and most is None and not unique and "contains" not in schema:
        return None

    def check(value: Any) -> Problems:
        if not isinstance(value, (list, tuple)):
            return None
        if fewest is not None and len(value) < fewest:
            return [Problem((), f"at least {fewest} items", f"{len(value)}", "minItems")]
        if most is not None and len(value) > most:
            return [Problem((), f"at most {most} items", f"{len(value)}", "maxItems")]
        found: list[Problem] = []
        for index, item in enumerate(value):
            one = heads[index] if index < len(heads) else tail
            problems = one(item) if one is not None else None
            if problems:
                found.extend(problem.under(index) for problem in problems)
        if found:
            return found
        if unique and len({_identity(item) for item in value}) < len(value):
            return [Problem((), "items that all differ", got(value), "uniqueItems")]
        return _contains(schema, holds, value) if "contains" in schema else None

    return check


def _identity(value: Any) -> Any:
    """Something hashable that is equal exactly where `same` says so."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, (list, tuple)):
        return ("array", *map(_identity, value))
    if isinstance(value, Mapping):
        return ("object", frozenset((key, _identity(item)) for key, item in value.items()))
    try:
        hash(value)
    except TypeError:
        return ("other", id(value))
    return value


def _contains(schema: Schema, holds: Check | None, value: Sequence[Any]) -> Problems:
    count = sum(1 for item in value if holds is None or not holds(item))
    fewest, most = schema.get("minContains", 1), schema.get("maxContains")
    if count < fewest or (most is not None and count > most):
        return [Problem((), f"{fewest} or more items that are {expected(schema['contains'])}", got(value), "contains")]
    return None


def _object(compiler: Compiler, schema: Schema) -> Check | None:
    declared = schema.get("properties") or {}
    properties = {name: compiler.compile(one) for name, one in declared.items()}
    required = [name for name in schema.get("required") or () if isinstance(name, str)]
    patterns = [
        (_matcher(text), compiler.compile(one)) for text, one in (schema.get("patternProperties") or {}).items()
    ]
    closed = schema.get("additionalProperties") is False
    extra = (
        compiler.compile(schema["additionalProperties"]) if not closed and "additionalProperties" in schema else None
    )
    if not any(properties.values()) and not required and not patterns and not closed and extra is None:
        return None

    def check(value: Any) -> Problems:
        if type(value) is not dict and not isinstance(value, Mapping):
            return None
        found: list[Problem] = []
        for name in required:
            if name not in value:
                found.append(missing_key(name, declared.get(name)))  # noqa: PERF401 - faster where nothing is missing
        for key, item in value.items():
            one = properties.get(key)
            if one is None and key not in properties:
                checks = [pattern_check for matches, pattern_check in patterns if matches(str(key))]
                if not checks and closed:
                    missing = [name for name in required if name not in value]
                    found.append(unknown_key(key, list(properties), missing))
                    continue
                one = _all(checks) if checks else extra
            problems = one(item) if one is not None else None
            if problems:
                found.extend(problem.under(key) for problem in problems)
        return found or None

    return check


def _all(checks: Iterable[Check | None]) -> Check:
    def check(value: Any) -> Problems:
        return next((found for one in checks if one is not None and (found := one(value))), None)

    return check


def _object_shape(compiler: Compiler, schema: Schema) -> Check | None:
    fewest, most = schema.get("minProperties"), schema.get("maxProperties")
    names = compiler.compile(schema["propertyNames"]) if "propertyNames" in schema else None
    needs: Mapping[str, Any] = schema.get("dependentRequired") or {}
    implied = {key: compiler.compile(one) for key, one in (schema.get("dependentSchemas") or {}).items()}
    if fewest is None and most is None and names is None and not needs and not implied:
        return None

    def check(value: Any) -> Problems:
        if not isinstance(value, Mapping):
            return None
        if (fewest is not None and len(value) < fewest) or (most is not None and len(value) > most):
            limit = f"at least {fewest}" if fewest is not None and len(value) < fewest else f"at most {most}"
            return [Problem((), f"{limit} keys", f"{len(value)}", "minProperties")]
        for key in value:
            if names is not None and (found := names(key)):
                return [Problem((key,), f"a key that is {found[0].expected}", found[0].got, "propertyNames")]
        found = [
            missing_key(name, None)
            for key, wanted in needs.items()
            if key in value
            for name in wanted
            if name not in value
        ]
        return found or _all(one for key, one in implied.items() if key in value)(value)

    return check


def _all_of(compiler: Compiler, schema: Schema) -> Check | None:
    checks = [check for one in schema.get("allOf") or () if (check := compiler.compile(one)) is not None]
    return _all(checks) if checks else None


def _any_of(compiler: Compiler, schema: Schema) -> Check | None:
    if not isinstance(schema.get("anyOf"), Sequence):
        return None
    checks = [compiler.compile(one) for one in schema["anyOf"]]
    if any(check is None for check in checks):
        return None

    def check(value: Any) -> Problems:
        failures: list[list[Problem]] = []
        for one in checks:
            found = one(value) if one is not None else None
            if not found:
                return None
            failures.append(found)
        return _closest(failures) or [Problem((), expected(schema), got(value), "anyOf")]

    return check


def _one_of(compiler: Compiler, schema: Schema) -> Check | None:
    if not isinstance(schema.get("oneOf"), Sequence):
        return None
    checks = [compiler.compile(one) for one in schema["oneOf"]]

    def check(value: Any) -> Problems:
        failures = [found for one in checks if one is not None and (found := one(value))]
        fitting = len(checks) - len(failures)
        if fitting == 1:
            return None
        if fitting > 1:
            return [Problem((), f"exactly one of {expected(schema)}", f"{fitting} that fit", "oneOf")]
        return _closest(failures) or [Problem((), expected(schema), got(value), "oneOf")]

    return check


def _closest(failures: Sequence[list[Problem]]) -> Problems:
    """The problems with the branch that was most probably meant: the value has its type, and its constants fit."""
    inside = [found for found in failures if all(problem.path for problem in found)]
    if not inside:
        return None
    return min(inside, key=lambda found: (sum(problem.keyword in ("const", "enum") for problem in found), len(found)))


def _logic(compiler: Compiler, schema: Schema) -> Check | None:
    forbidden = compiler.compile(schema["not"]) if "not" in schema else None
    condition = compiler.compile(schema["if"]) if "if" in schema else None
    then, otherwise = compiler.compile(schema.get("then", True)), compiler.compile(schema.get("else", True))
    if "not" not in schema and "if" not in schema:
        return None

    def check(value: Any) -> Problems:
        if "not" in schema and (forbidden is None or not forbidden(value)):
            return [Problem((), f"anything but {expected(schema['not'])}", got(value), "not")]
        if "if" not in schema:
            return None
        branch = then if condition is None or not condition(value) else otherwise
        return branch(value) if branch is not None else None

    return check


PARTS: Sequence[Callable[[Any, Schema], Any]] = (
    _constant, _enumeration, _text, _number, _array, _object, _object_shape, _all_of, _any_of, _one_of, _logic,
)  # fmt: skip

UNSUPPORTED = frozenset({"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"})
"""Assertions that only a full validator checks."""
