"""``key=value`` on the command line, read the way a tool's schema declares the parameter."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

_PAIR = re.compile(r"(?P<key>[^=:]+)(?P<operator>:=|=)(?P<value>.*)", re.DOTALL)
_MISSING = object()


def encode_file(content: bytes, name: str) -> str:
    """The content of a file as base64: how it travels where there is nothing better."""
    return base64.b64encode(content).decode("ascii")


def parse_arguments(
    pairs: Sequence[str],
    schema: Mapping[str, Any],
    *,
    given: str | None = None,
    encode: Callable[[bytes, str], str] = encode_file,
) -> dict[str, Any]:
    """Read the arguments of one call.

    Args:
        pairs: ``key=value``, ``key:=json`` or ``key=@file``; a key may be repeated where the parameter is a list.
        schema: the tool's parameters.
        given: the file with a JSON object that the pairs are added to; ``-`` = standard input.
        encode: turns a file's content and name into the value of a parameter that carries files.

    Raises:
        click.UsageError: what is wrong with which argument.

    Example:
        >>> properties = {"text": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}}
        >>> parse_arguments(["text=42", "sizes=1", "sizes=2"], {"properties": properties})
        {'text': '42', 'sizes': [1, 2]}
    """
    arguments = _object(given) if given is not None else {}
    from_pairs: dict[str, Any] = {}
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        if match is None:
            raise _wrong(f"{pair!r} is no argument: write key=value, key:=json or key=@file")
        key, value = match["key"], match["value"]
        where = f"{key}{match['operator']}{value if len(value) <= 40 else value[:40] + '…'}"
        parameter = _resolve(_mapping(schema.get("properties")).get(key, {}), schema)
        if match["operator"] == ":=":
            parsed = _json(value, where, "JSON")
        else:
            parsed = _value(value, parameter, schema, where, encode)
        _add(from_pairs, key, parsed, is_list="array" in _types(parameter, schema), where=where)
    return {**arguments, **from_pairs}


def _add(arguments: dict[str, Any], key: str, value: Any, *, is_list: bool, where: str) -> None:
    present = arguments.get(key, _MISSING)
    if present is _MISSING:
        arguments[key] = value
    elif is_list and isinstance(present, list) and isinstance(value, list):
        arguments[key] = [*present, *value]
    else:
        raise _wrong(f"{where}: {key} is given twice, and it is no list")


def _value(
    text: str,
    parameter: Mapping[str, Any],
    root: Mapping[str, Any],
    where: str,
    encode: Callable[[bytes, str], str],
) -> Any:
    types = _types(parameter, root)
    if "array" in types and "string" not in types:
        if text.lstrip().startswith("["):
            return _json(text, where, "a list")
        items = _resolve(_mapping(parameter.get("items") or _items(parameter, root)), root)
        return [_value(text, items, root, where, encode)]
    if text.startswith("@"):
        content, name = _read(text[1:], where)
        if _carries_file(parameter, root):
            return encode(content, name)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise _wrong(f"{where}: the file is not text in UTF-8, and the parameter carries no files") from None
    if "string" in types:
        return text
    if types - {"null"}:
        return _json(text, where, " or ".join(sorted(types - {"null"})))
    try:
        return _json(text, where, "JSON")
    except click.UsageError:
        return text


def _types(parameter: Mapping[str, Any], root: Mapping[str, Any]) -> frozenset[str]:
    declared = parameter.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(map(str, declared))
    values = parameter.get("enum", [parameter["const"]] if "const" in parameter else [])
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return frozenset({"string"})
    return frozenset().union(*(_types(branch, root) for branch in _branches(parameter, root)))


def _branches(parameter: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in parameter.get(keyword) or ():
            yield _resolve(branch, root)


def _items(parameter: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    return next((branch["items"] for branch in _branches(parameter, root) if "items" in branch), {})


def _carries_file(parameter: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    return parameter.get("contentEncoding") == "base64" or any(
        branch.get("contentEncoding") == "base64" for branch in _branches(parameter, root)
    )


def _resolve(parameter: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(8):
        reference = _mapping(parameter).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        parameter = root
        for part in reference[2:].split("/"):
            parameter = _mapping(parameter).get(part.replace("~1", "/").replace("~0", "~"))
    return _mapping(parameter)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _object(file: str) -> dict[str, Any]:
    content, _ = _read(file, "--json")
    try:
        value = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except ValueError as error:
        raise _wrong(f"--json {file}: no JSON: {error}") from None
    if not isinstance(value, dict):
        raise _wrong(f"--json {file}: holds no JSON object with the tool's parameters")
    return value


def _json(text: str, where: str, expected: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _wrong(f"{where}: expected {expected}") from None


def _wrong(message: str) -> click.UsageError:
    return click.UsageError(message, ctx=click.get_current_context(silent=True))


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _read(file: str, where: str) -> tuple[bytes, str]:
    if file == "-":
        return sys.stdin.buffer.read(), "stdin"
    path = Path(file).expanduser()
    try:
        return path.read_bytes(), path.name
    except OSError as error:
        raise _wrong(f"{where}: {path} cannot be read: {error.strerror or error}") from None
