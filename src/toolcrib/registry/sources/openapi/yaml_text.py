"""YAML as OpenAPI means it: the JSON schema of YAML 1.2, read with PyYAML where that is installed."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from toolcrib.errors import SourceError
from toolcrib.registry.sources.document import Document
from toolcrib.registry.sources.positions import Location

MOST_VALUES = 2_000_000
"""Values of a document, aliases expanded; more than that is no API but an attack."""


def parse_yaml(path: Path, content: bytes) -> Document:
    """Parse a YAML file that holds one object.

    Raises:
        SourceError: PyYAML is missing, or the file is not such YAML.
    """
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        hint = "Install PyYAML (pip install pyyaml) beside toolcrib, or save the document as JSON."
        raise SourceError("this is YAML, and PyYAML is not installed", path=str(path), hint=hint) from None
    try:
        text = content.decode("utf-8-sig")
        data = _Plain().value(yaml.load(text, Loader=_loader(yaml)))
    except UnicodeDecodeError as error:
        raise SourceError("the file is not UTF-8", path=str(path), hint="Save it as UTF-8.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = f"not valid YAML: {getattr(error, 'problem', None) or 'it cannot be read'}"
        raise SourceError(message, path=str(path), line=mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise SourceError("the objects are nested too deeply", path=str(path)) from error
    except _TooMany as error:
        raise SourceError(f"its aliases expand to more than {MOST_VALUES} values", path=str(path)) from error
    if not isinstance(data, dict):
        raise SourceError("the file must hold one object", path=str(path), line=1)
    return Document(path, text, data, lambda text: dict(_places(yaml.compose(text, Loader=_loader(yaml)), ())))


def _loader(yaml: Any) -> Any:
    """A safe loader for which ``no``, ``12:30`` and ``2024-01-01`` are texts."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # none of those of YAML 1.1

        def number(self, node: Any) -> int | float:
            text = self.construct_scalar(node)
            return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)

    truth = re.compile(r"(?:true|True|TRUE|false|False|FALSE)$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", truth, list("tTfF"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
    number = re.compile(r"[-+]?(?:\d+|(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?)$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"<<$"), ["<"])
    Loader.add_constructor("tag:yaml.org,2002:float", Loader.number)
    return Loader


class _TooMany(Exception):
    """The values are more than a document has."""


class _Plain:
    """Makes every key a text (a status ``200:`` is one in JSON), and counts."""

    def __init__(self) -> None:
        self.count = 0

    def value(self, value: Any) -> Any:
        self.count += 1
        if self.count > MOST_VALUES:
            raise _TooMany
        if isinstance(value, dict):
            return {_key(key): self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list) else value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return "null" if key is None else str(key)


def _places(node: Any, location: Location) -> Iterator[tuple[Location, int]]:
    yield location, node.start_mark.line + 1
    if node.id == "mapping":
        for key, value in node.value:
            place = (*location, str(key.value))
            for where, line in _places(value, place):
                yield where, key.start_mark.line + 1 if where == place else line
    elif node.id == "sequence":
        for index, item in enumerate(node.value):
            yield from _places(item, (*location, index))
