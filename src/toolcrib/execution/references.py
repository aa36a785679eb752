"""Artifact references in arguments and results, wherever a schema says that a string is a file in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from toolcrib.definition.artifact import REFERENCE_PREFIX
from toolcrib.definition.ports import ArtifactStore
from toolcrib.errors import InvalidParamsError, UnknownArtifactError

Path = tuple[str, ...]
EACH = "*"


def binary_paths(schema: Mapping[str, Any] | None) -> tuple[Path, ...]:
    """Where a schema says ``contentEncoding: base64``; ``*`` stands for each item or value.

    Example:
        >>> binary_paths({"properties": {"images": {"items": {"contentEncoding": "base64"}}}})
        (('images', '*'),)
    """
    return tuple(dict.fromkeys(_walk(schema, schema, (), frozenset()))) if schema else ()


def _walk(node: Any, root: Mapping[str, Any], path: Path, seen: frozenset[str]) -> Iterator[Path]:
    if not isinstance(node, Mapping):
        return
    if node.get("contentEncoding") == "base64":
        yield path
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/") and reference not in seen:
        yield from _walk(_pointer(root, reference), root, path, seen | {reference})
    for name, child in _mapping(node.get("properties")).items():
        yield from _walk(child, root, (*path, name), seen)
    for keyword in ("items", "additionalProperties"):
        yield from _walk(node.get(keyword), root, (*path, EACH), seen)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for child in node.get(keyword) or ():
            yield from _walk(child, root, path, seen)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _pointer(root: Any, reference: str) -> Any:
    for part in reference[2:].split("/"):
        root = _mapping(root).get(part.replace("~1", "/").replace("~0", "~"))
    return root


def resolve(
    arguments: Mapping[str, Any], paths: Sequence[Path], store: ArtifactStore, form: Literal["path", "base64"]
) -> Mapping[str, Any]:
    """Arguments with every artifact reference replaced by what the tool reads (contract M05).

    Args:
        arguments: validated; returned unchanged where they hold no reference.
        paths: from `binary_paths`.
        store: where the references point.
        form: ``path`` gives a ``file://`` URI, ``base64`` the content.

    Raises:
        InvalidParamsError: a reference to an artifact that does not exist, or the name of a file of this machine.
    """

    def content(value: Any, where: str) -> Any:
        if not isinstance(value, str):
            return value
        if value[:5].lower() == "file:":
            raise InvalidParamsError(
                f"{where}: a file of this machine cannot be named in a call",
                hint="Send the content in base64, or upload it (POST /artifacts) and send its artifact:// reference.",
            )
        if not value.startswith(REFERENCE_PREFIX):
            return value
        try:
            path = store.path(value.removeprefix(REFERENCE_PREFIX).strip())
        except UnknownArtifactError as error:
            raise InvalidParamsError(f"{where}: {error}", hint=error.hint) from error
        return path.as_uri() if form == "path" else base64.b64encode(path.read_bytes()).decode("ascii")

    result: Any = arguments
    for path in paths:
        result = _replace(result, path, content, "")
    return result if isinstance(result, Mapping) else arguments


def to_references(data: Any, paths: Sequence[Path], store: ArtifactStore, name: str) -> Any:
    """A result with every base64 field replaced by its artifact (DESIGN §11.25).

    A field that is no base64 stays as it is.
    """

    def keep(value: Any, where: str) -> Any:
        if not isinstance(value, str):
            return value
        try:
            content = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return value
        return store.put(content, name=f"{name}-{where}").to_dict()

    for path in paths:
        data = _replace(data, path, keep, "")
    return data


def _replace(value: Any, path: Path, change: Callable[[Any, str], Any], where: str) -> Any:
    if not path:
        return change(value, where)
    head, rest = path[0], path[1:]
    if head == EACH and isinstance(value, list):
        items = [_replace(item, rest, change, f"{where}[{index}]") for index, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, Mapping):
        return value
    changed = {
        key: new
        for key in (value if head == EACH else (head,) if head in value else ())
        if (new := _replace(value[key], rest, change, f"{where}.{key}" if where else key)) is not value[key]
    }
    return {**value, **changed} if changed else value
