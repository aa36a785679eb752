"""Results as JSON text, whatever a tool returned, and no longer than a model should read (DESIGN §3.6)."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolcrib.definition.artifact import Artifact

RESULT_LIMIT = 32 * 1024
"""Characters of one result that a model is shown."""

CIRCULAR = "[circular]"
TOO_DEEP = "[nested too deeply]"
_DEEPEST = 200
_SCALARS = (str, int, bool, type(None))
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)


def _make_encode() -> Callable[[Any], str]:
    """``json.dumps`` without making an encoder each time, where the C one is there."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _encoder.encode
    encode = make(None, _encoder.default, json.encoder.encode_basestring, None, ": ", ", ", False, False, False)
    return lambda value: "".join(encode(value, 0))


_encode = _make_encode()


def json_text(value: Any) -> str:
    """``value`` as JSON text, always valid.

    What JSON does not have gets a stated form: bytes are their text, or ``{"base64": …}``; NaN and infinities their
    names; dates ISO 8601; decimals, UUIDs and paths text; enumerations their value; sets and generators lists;
    dataclasses and pydantic models objects; keys text, and where two become the same, their types are told.

    Example:
        >>> json_text({1: "a", "1": "b", "when": datetime.date(2026, 1, 2)})
        '{"1 (int)": "a", "1": "b", "when": "2026-01-02"}'
    """
    try:
        text = _encode(value if is_plain(value) else plain(value))
    except (TypeError, ValueError, RecursionError):
        text = _encode(plain(value))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            text = text.encode("utf-8", "replace").decode()
    return text


def is_plain(value: Any) -> bool:
    """Whether it is JSON as it stands, with text for keys; False also where that would take long to find out."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not (type(item) in _SCALARS or is_plain(item)):
                return False
        return True
    if kind is list:
        return all(type(item) in _SCALARS or is_plain(item) for item in value)
    return False


def plain(value: Any, parents: tuple[int, ...] = ()) -> Any:
    """``value`` in what JSON has; see `json_text`."""
    if value is None or (isinstance(value, (bool, str)) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value, parents)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _name_of(value)
    if id(value) in parents:
        return CIRCULAR
    if len(parents) >= _DEEPEST:
        return TOO_DEEP
    inside = (*parents, id(value))
    if isinstance(value, Mapping):
        return _members(value, inside)
    if isinstance(value, (list, tuple)):
        return [plain(item, inside) for item in value]
    return _other(value, inside)


def _name_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _members(value: Mapping[Any, Any], inside: tuple[int, ...]) -> dict[str, Any]:
    texts = [_key(key) for key in value]
    taken: dict[str, Any] = {}
    for text, (key, item) in zip(texts, value.items(), strict=True):
        name = text if isinstance(key, str) or texts.count(text) == 1 else f"{text} ({type(key).__name__})"
        while name in taken:
            name += "'"
        taken[name] = plain(item, inside)
    return taken


def _key(key: Any) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return _encode(key)
    if isinstance(key, tuple):
        return f"({', '.join(_key(part) for part in key)})"
    return _name_of(key) if isinstance(key, float) and not math.isfinite(key) else _shown(key)


def _other(value: Any, inside: tuple[int, ...]) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _binary(bytes(value))
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, datetime.timedelta)):
        return str(value)
    if isinstance(value, Artifact):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), inside) for field in dataclasses.fields(value)}
    if hasattr(type(value), "model_dump"):
        return plain(value.model_dump(mode="python"), inside)
    if isinstance(value, (set, frozenset)):
        return [plain(item, inside) for item in sorted(value, key=_shown)]
    if isinstance(value, Iterable) and not isinstance(value, type):
        return [plain(item, inside) for item in value]
    return _shown(value)


def _binary(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii"), "size": len(value)}


def _shown(value: Any) -> str:
    try:
        return str(value)[:1000]
    except Exception:
        return f"<{type(value).__name__}>"


def shorten(text: str, limit: int, keep: Callable[[str], Artifact] | None = None) -> tuple[str, Artifact | None]:
    """Head and tail of a text that is too long to be shown, and where the whole of it lies.

    Args:
        text: the whole.
        limit: characters to show.
        keep: stores the whole.

    Example:
        >>> shorten("x" * 50, 20)[0]
        'xxxxxxxxxxxxx\\n[… 30 of 50 characters left out …]\\nxxxxxxx'
    """
    artifact = keep(text) if keep is not None else None
    head = max(1, limit * 2 // 3)
    tail = max(1, limit - head)
    where = f"; the whole is {artifact.reference}, to be read with read_result" if artifact is not None else ""
    note = f"\n[… {len(text) - head - tail} of {len(text)} characters left out{where} …]\n"
    return f"{text[:head]}{note}{text[-tail:]}", artifact
