"""Facts ``[path, operator, value]`` about a tool's schema, as `FORMS` names them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MISSING = object()
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")


@dataclass
class Subject:
    """What facts speak about."""

    schema: dict[str, Any]
    name: str
    description: str
    output_schema: Any
    listed: list[dict[str, Any]]
    names: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)
    across_processes: Callable[[], list[str]] = list

    def find(self, path: str) -> Any:
        """What a path leads to, or MISSING; references are followed."""
        if path == "*":
            return self.schema
        head, _, rest = path.partition(".")
        tools_own = {
            "name": self.name, "description": self.description, "names": self.names, "tools_list": self.listed,
            "serialised": json.dumps(self.listed, ensure_ascii=False), **self.own,
        }  # fmt: skip
        if head == "output_schema":
            return walk(self.output_schema, self.output_schema, rest) if self.output_schema is not None else MISSING
        if head in tools_own and head != "type":
            return walk(tools_own[head], tools_own[head], rest)
        return walk(self.schema, self.schema, path)


def walk(root: Any, value: Any, path: str) -> Any:
    """Follow a dotted path from ``value``; keys with dots in them are tried whole."""
    value = follow(root, value)
    if not path:
        return value
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        return walk(root, value[int(head)], rest) if head.isdigit() and int(head) < len(value) else MISSING
    if not isinstance(value, Mapping):
        return MISSING
    parts = path.split(".")
    for length in range(1, len(parts) + 1):
        key = ".".join(parts[:length])
        if key in value:
            return walk(root, value[key], ".".join(parts[length:]))
    return MISSING


def follow(root: Any, value: Any) -> Any:
    """What a chain of references ends in, with the keywords beside them."""
    for _ in range(50):
        if not (isinstance(value, Mapping) and isinstance(value.get("$ref"), str)):
            break
        target: Any = root
        for part in value["$ref"].removeprefix("#").split("/")[1:]:
            target = target[part.replace("~1", "/").replace("~0", "~")]
        value = {**target, **{key: one for key, one in value.items() if key != "$ref"}}
    return value


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside one, itself included."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        inside = (
            value.values()
            if key in _NAMED and isinstance(value, dict)
            else value
            if isinstance(value, list)
            else [value]
        )
        if key not in ("default", "enum", "const", "examples", "required"):
            for one in inside:
                yield from schemas_in(one)


def is_valid(root: Mapping[str, Any], schema: Any, instance: Any) -> bool:
    """Whether an instance fits a subschema, by a validator that is not ours."""
    import jsonschema_rs

    if isinstance(schema, Mapping) and schema.get("nullable") and instance is None:
        return True
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    whole = {**definitions, **schema} if isinstance(schema, Mapping) else schema
    return jsonschema_rs.validator_for(whole).is_valid(instance)


def difference(subject: Subject, path: str, operator: str, value: Any = None) -> str | None:
    """What is wrong with a fact, or None."""
    try:
        if path == "every_object":
            return _every_object(subject, operator, value)
        found = subject.find(path)
        good = OPERATORS[operator](subject, path, found, value)
    except KeyError as error:
        return f"{path} {operator}: expected {value!r}, got KeyError {error}"
    if good:
        return None
    shown = "nothing" if found is MISSING else json.dumps(found, ensure_ascii=False, default=repr)
    return f"{path} {operator}: expected {value!r}, got {shown[:300]}"


def _every_object(subject: Subject, operator: str, value: Any) -> str | None:
    for one in schemas_in(subject.schema):
        kinds = one["type"] if isinstance(one.get("type"), list) else [one.get("type")]
        if "object" in kinds or "properties" in one:
            if operator in ("additionalProperties", "eq"):
                good = one.get("additionalProperties", MISSING) == value
            else:
                good = OPERATORS[operator](subject, "", one, value)
            if not good:
                return f"every_object {operator}: expected {value!r}, got {json.dumps(one, ensure_ascii=False)[:300]}"
    return None


def _texts(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _required(subject: Subject, path: str) -> bool:
    parent, _, name = (
        path.rpartition(".properties.") if ".properties." in path else ("", "", path.removeprefix("properties."))
    )
    owner = subject.find(parent) if parent else subject.schema
    return name in owner.get("required", ())


def _values(subject: Subject, schema: Any) -> list[Any]:
    schema = follow(subject.schema, schema)
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    return [value for key in ("anyOf", "oneOf") for branch in schema.get(key, ()) for value in _values(subject, branch)]


def _types(subject: Subject, schema: Any) -> set[str]:
    schema = follow(subject.schema, schema)
    branches = [one for key in ("anyOf", "oneOf") for one in schema.get(key, ())]
    if branches:
        found = set().union(*(_types(subject, branch) for branch in branches))
    else:
        kinds = schema.get("type")
        found = {kinds} if isinstance(kinds, str) else set(kinds or ())
    return found | ({"null"} if schema.get("nullable") else set())


def _resolves(subject: Subject, schema: Any, wanted: Mapping[str, Any]) -> bool:
    schema = follow(subject.schema, schema)
    if schema is MISSING:
        return False
    for branch in [one for key in ("anyOf", "oneOf") for one in schema.get(key, ())]:
        if _resolves(subject, branch, wanted):
            return True
    if not set(wanted.get("required", ())) <= set(schema.get("required", ())):
        return False
    if not set(wanted.get("properties", ())) <= set(schema.get("properties", ())):
        return False
    return all(_resolves(subject, schema["properties"][name], one) for name, one in wanted.get("within", {}).items())


def _dangling(subject: Subject) -> bool:
    for one in schemas_in(subject.schema):
        if isinstance(one.get("$ref"), str):
            try:
                follow(subject.schema, {"$ref": one["$ref"]})
            except (KeyError, TypeError, IndexError):
                return True
    return False


def _has_cycle(subject: Subject) -> bool:
    def visit(value: Any, above: frozenset[str]) -> bool:
        for one in schemas_in(value):
            reference = one.get("$ref")
            if isinstance(reference, str):
                if reference in above:
                    return True
                target: Any = follow(subject.schema, {"$ref": reference})
                if visit(target, above | {reference}):
                    return True
        return False

    return visit(
        {key: value for key, value in subject.schema.items() if key not in ("$defs", "definitions")}, frozenset()
    )


def _strict_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _has_key(value: Any, key: str) -> bool:
    return any(key in one for one in schemas_in(value))


def _as_set(value: Any) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in ([] if value is MISSING else value))


def _same_everywhere(subject: Subject) -> bool:
    return len({*subject.across_processes(), json.dumps(subject.listed) + "\n"}) == 1


def _optional_with(subject: Subject, path: str, found: Any, wanted: Any) -> bool:
    return found is MISSING or (not _required(subject, path) and found.get("default", MISSING) == wanted)


Operator = Callable[[Subject, str, Any, Any], bool]
OPERATORS: Mapping[str, Operator] = {
    "eq": lambda _s, _p, found, value: found == value and isinstance(found, bool) == isinstance(value, bool),
    "set_eq": lambda _s, _p, found, value: _as_set(found) == _as_set(value),
    "len": lambda _s, _p, found, value: len(found) == value,
    "max_len": lambda _s, _p, found, value: len(found) <= value,
    "present": lambda _s, _p, found, _v: found is not MISSING,
    "absent": lambda _s, _p, found, _v: found is MISSING,
    "no_key": lambda _s, _p, found, value: not _has_key(found, value),
    "keys_eq": lambda _s, _p, found, value: sorted(found) == sorted(value),
    "contains_all": lambda _s, _p, found, value: (
        found is not MISSING and all(str(one) in _texts(found) for one in value)
    ),
    "not_contains": lambda _s, _p, found, value: (
        found is MISSING or all(one not in _texts(found) for one in ([value] if isinstance(value, str) else value))
    ),
    "matches": lambda _s, _p, found, value: isinstance(found, str) and re.search(value, found) is not None,
    "accepts": lambda s, _p, found, value: (
        found is not MISSING and all(is_valid(s.schema, found, one) for one in value)
    ),
    "rejects": lambda s, _p, found, value: (
        found is not MISSING and not any(is_valid(s.schema, found, one) for one in value)
    ),
    "types_set": lambda s, _p, found, value: found is not MISSING and _types(s, found) == set(value),
    "enum_values": lambda s, _p, found, value: found is not MISSING and _as_set(_values(s, found)) == _as_set(value),
    "json_serialisable": lambda _s, _p, found, _v: _strict_json(found),
    "strict_json": lambda _s, _p, found, _v: _strict_json(found),
    "no_dangling_ref": lambda s, _p, _f, _v: not _dangling(s),
    "has_ref_cycle": lambda s, _p, _f, value: _has_cycle(s) == (value is not False),
    "terminates": lambda _s, _p, _f, _v: True,
    "resolves_to": lambda s, _p, found, value: _resolves(s, found, value),
    "says_encoding": lambda _s, _p, found, value: (
        found is not MISSING
        and (found.get("contentEncoding") == value or value.casefold() in str(found.get("description", "")).casefold())
    ),
    "absent_or_optional_array": lambda s, p, found, _v: (
        found is MISSING or (found.get("type") == "array" and not _required(s, p))
    ),
    "absent_or_optional_default": _optional_with,
    "distinct": lambda _s, _p, found, _v: len(set(found)) == len(found),
    "each_matches": lambda _s, _p, found, value: all(re.search(value, one) for one in found),
    "not_only": lambda _s, _p, found, value: isinstance(found, str) and found.strip(value) != "",
    "stable_across_processes": lambda s, _p, _f, _v: _same_everywhere(s),
    "identical_across_processes": lambda s, _p, _f, _v: _same_everywhere(s),
    "stable_order": lambda s, _p, _f, _v: _same_everywhere(s),
    "additionalProperties": lambda _s, _p, found, value: (
        found is not MISSING and found.get("additionalProperties", MISSING) == value
    ),
    "required_is_all": lambda _s, _p, found, _v: (
        sorted(found.get("required", ())) == sorted(found.get("properties", ()))
    ),
    "object_root": lambda _s, _p, found, _v: (
        found.get("type") == "object"
        and not any(key in found for key in ("anyOf", "oneOf", "allOf", "enum", "not", "$ref"))
    ),
}
