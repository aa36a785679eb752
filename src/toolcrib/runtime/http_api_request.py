"""The request that an operation of an HTTP API becomes: OpenAPI's styles, and the kinds of body."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from toolcrib.errors import InvalidParamsError
from toolcrib.registry.sources.openapi.wire import HttpBody, HttpField, HttpOperation, HttpParameter

_RESERVED = "!$'()*,/:;?@"
"""Reserved characters that allowReserved leaves alone and that do not end a part of a query."""

_COOKIE = "!#$&'()*+-./:<=>?@[]^_`{|}~"
_SEPARATORS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_FORM_QUOTES = {'"': "%22", "\r": "%0D", "\n": "%0A"}

Encode = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request before it is signed.

    Attributes:
        method: in upper case.
        target: path and query, percent-encoded, to be put behind the server's URL.
        headers: without those that follow from the body's length and the connection.
        body: the bytes; None = there is none.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None


def build_request(operation: HttpOperation, arguments: Mapping[str, Any]) -> ApiRequest:
    """The request for these arguments, which fit the tool's schema.

    Raises:
        InvalidParamsError: a value cannot be put where it belongs.
    """
    path = operation["path"]
    query: list[str] = []
    cookies: list[str] = []
    headers: list[tuple[str, str]] = [("Accept", operation["accept"])]
    for parameter in operation["parameters"]:
        value = arguments.get(parameter["argument"])
        if parameter["place"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", _path_value(parameter, value))
        elif value is None:
            continue
        elif parameter["place"] == "query":
            query += _query_pairs(parameter, value)
        elif parameter["place"] == "header":
            headers.append((parameter["name"], _header_value(parameter, value)))
        else:
            cookies += _cookie_pairs(parameter, value)
    if cookies:
        headers.append(("Cookie", "; ".join(cookies)))
    body, content_type = _body(operation, arguments)
    if content_type is not None:
        headers.append(("Content-Type", content_type))
    return ApiRequest(operation["method"], f"{path}?{'&'.join(query)}" if query else path, tuple(headers), body)


def decode_base64(value: Any, argument: str) -> bytes:
    """The bytes that an argument holds as base64, or as a ``data:`` URL.

    Raises:
        InvalidParamsError: it holds none.
    """
    text = value if isinstance(value, str) else ""
    if text.startswith("data:"):
        text = text.partition(";base64,")[2]
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        hint = "Send the file's bytes in base64, or a reference such as artifact://…"
        raise InvalidParamsError(f"{argument}: expected a file in base64", hint=hint) from None


def text_of(value: Any) -> str:
    """A value as it stands in a URL, a header or a form, not yet encoded."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encoder(allow_reserved: bool) -> Encode:
    """Percent-encodes all but letters, digits and ``-._~``, or also leaves what is reserved and harmless."""
    if not allow_reserved:
        return lambda text: quote(text, safe="")
    return lambda text: "".join(
        part if index % 2 else quote(part, safe=_RESERVED)
        for index, part in enumerate(re.split(r"(%[0-9A-Fa-f]{2})", text))
    )


def form_pairs(name: str, value: Any, style: str, explode: bool, encode: Encode) -> list[str]:
    """A value as ``name=value`` pairs in one of the styles of a query.

    Example:
        >>> form_pairs("id", [3, 4], "pipeDelimited", False, encoder(False))
        ['id=3%7C4']
        >>> form_pairs("box", {"w": 1, "h": 2}, "deepObject", True, encoder(False))
        ['box%5Bw%5D=1', 'box%5Bh%5D=2']
    """
    key = quote(name, safe="")
    if isinstance(value, Mapping):
        if style == "deepObject":
            return list(_deep(name, value, encode))
        entries = [(quote(one, safe=""), encode(text_of(item))) for one, item in _present(value)]
        if explode:
            return [f"{one}={item}" for one, item in entries]
        flat = [part for entry in entries for part in entry]
        return [f"{key}={_SEPARATORS.get(style, ',').join(flat)}"] if flat else []
    if isinstance(value, list | tuple):
        items = [encode(text_of(item)) for item in value if item is not None]
        if explode or style == "deepObject":
            return [f"{key}={item}" for item in items]
        return [f"{key}={_SEPARATORS.get(style, ',').join(items)}"] if items else []
    return [f"{key}={encode(text_of(value))}"]


def _deep(name: str, value: Mapping[str, Any], encode: Encode) -> Iterator[str]:
    for key, item in _present(value):
        inner = f"{name}[{key}]"
        if isinstance(item, Mapping):
            yield from _deep(inner, item, encode)
        else:
            yield from form_pairs(inner, item, "form", True, encode)


def _present(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((str(key), item) for key, item in value.items() if item is not None)


def _query_pairs(parameter: HttpParameter, value: Any) -> list[str]:
    encode = encoder(parameter["allow_reserved"])
    if parameter["media_type"] is not None:
        return [f"{quote(parameter['name'], safe='')}={encode(_serialized(value))}"]
    return form_pairs(parameter["name"], value, parameter["style"], parameter["explode"], encode)


def _serialized(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _path_value(parameter: HttpParameter, value: Any) -> str:
    argument, name, style, explode = (
        parameter["argument"],
        parameter["name"],
        parameter["style"],
        parameter["explode"],
    )
    if value is None or value in ("", [], {}):
        raise InvalidParamsError(
            f"{argument}: expected a value, got an empty one", hint="It is a part of the URL's path."
        )
    if parameter["media_type"] is not None:
        return quote(_serialized(value), safe="")
    encode = encoder(False)
    if style == "matrix":
        if isinstance(value, Mapping | list | tuple) and explode:
            text = "".join(f";{pair}" for pair in form_pairs(name, value, "form", True, encode))
        else:
            text = ";" + "".join(form_pairs(name, value, "form", False, encode))
    else:
        begin, separator = (".", "." if explode else ",") if style == "label" else ("", ",")
        text = begin + _simple(value, explode, separator, encode)
    if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(text))):
        raise InvalidParamsError(f"{argument}: {value!r} would lead to another path", hint="Send the bare value.")
    return text


def _simple(value: Any, explode: bool, separator: str, encode: Encode) -> str:
    if isinstance(value, Mapping):
        joint = "=" if explode else separator
        return separator.join(f"{encode(key)}{joint}{encode(text_of(item))}" for key, item in _present(value))
    if isinstance(value, list | tuple):
        return separator.join(encode(text_of(item)) for item in value if item is not None)
    return encode(text_of(value))


def _header_value(parameter: HttpParameter, value: Any) -> str:
    if parameter["media_type"] is not None:
        text = json.dumps(value, separators=(",", ":"))
    else:
        text = _simple(value, parameter["explode"], ",", lambda one: one)
    if _UNSENDABLE.search(text):
        hint = "A header is one line."
        raise InvalidParamsError(f"{parameter['argument']}: it contains a line break or control character", hint=hint)
    return text.strip()


def _cookie_pairs(parameter: HttpParameter, value: Any) -> list[str]:
    def encode(text: str) -> str:
        return quote(text, safe=_COOKIE)

    if parameter["media_type"] is not None:
        return [f"{parameter['name']}={encode(_serialized(value))}"]
    return form_pairs(parameter["name"], value, "form", parameter["explode"], encode)


def _body(operation: HttpOperation, arguments: Mapping[str, Any]) -> tuple[bytes | None, str | None]:
    body = operation["body"]
    if body is None:
        return None, None
    if body["whole"] is not None:
        if body["whole"] not in arguments:
            return None, None
        return _whole(body, arguments[body["whole"]]), _content_type(body)
    given = [(field, arguments[field["argument"]]) for field in body["fields"] if field["argument"] in arguments]
    if body["open"]:
        known = {each["argument"] for each in (*operation["parameters"], *body["fields"])}
        given += [(_further(name), value) for name, value in arguments.items() if name not in known]
    if not given and not body["required"]:
        return None, None
    if body["kind"] == "multipart":
        return _multipart(given)
    if body["kind"] == "form":
        return "&".join(pair for field, value in given for pair in _form_field(field, value)).encode(), body[
            "media_type"
        ]
    return _json({field["name"]: value for field, value in given}), _content_type(body)


def _further(name: str) -> HttpField:
    return {
        "argument": name,
        "name": name,
        "is_file": False,
        "content_type": None,
        "style": None,
        "explode": True,
        "allow_reserved": False,
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _whole(body: HttpBody, value: Any) -> bytes:
    if body["kind"] == "json":
        return _json(value)
    return text_of(value).encode() if body["kind"] == "text" else decode_base64(value, body["whole"] or "body")


def _content_type(body: HttpBody) -> str:
    media_type = body["media_type"]
    if body["kind"] == "text" and "charset" not in media_type.lower():
        return f"{media_type}; charset=utf-8"
    return media_type


def _form_field(field: HttpField, value: Any) -> list[str]:
    if value is None:
        return []
    encode = encoder(field["allow_reserved"])
    if field["style"] is not None:
        return form_pairs(field["name"], value, field["style"], field["explode"], encode)
    if isinstance(value, Mapping):
        value = text_of(value)
    return form_pairs(field["name"], value, "form", True, encode)


def _multipart(given: list[tuple[HttpField, Any]]) -> tuple[bytes, str]:
    boundary = secrets.token_hex(16)
    content = bytearray()
    for field, value in given:
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is not None:
                head, data = _part(field, item)
                content += f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"
    content += f"--{boundary}--\r\n".encode()
    return bytes(content), f"multipart/form-data; boundary={boundary}"


def _part(field: HttpField, value: Any) -> tuple[str, bytes]:
    name = "".join(_FORM_QUOTES.get(character, character) for character in field["name"])
    head = f'Content-Disposition: form-data; name="{name}"'
    said = field["content_type"] if field["content_type"] and "*" not in field["content_type"] else None
    if field["is_file"]:
        data = decode_base64(value, field["argument"])
        content_type = said or _sniffed(data)
        extension = mimetypes.guess_extension(content_type) or ""
        return f'{head}; filename="{name}{extension}"\r\nContent-Type: {content_type}', data
    kind = said or ("application/json" if isinstance(value, Mapping | list | tuple) else None)
    return f"{head}\r\nContent-Type: {kind}" if kind else head, text_of(value).encode()


def _sniffed(data: bytes) -> str:
    from toolcrib.storage.media import media_type

    return media_type(data[:4096], whole=len(data) <= 4096)
