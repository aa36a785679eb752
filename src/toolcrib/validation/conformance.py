"""Checks of a running tool, each a function that asks it something over HTTP (contract T025).

The tool's process is asked directly: what it does with wrong parameters is its own doing, not the router's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.definition.validation import validate_output
from toolcrib.validation.exchange import Exchange, Reply
from toolcrib.validation.findings import Finding, failed, passed, warned

PARALLEL_CALLS = 8
LARGE_BODY_BYTES = 1024 * 1024
CPU_SECONDS = 0.25
UNKNOWN_KEY = "toolcrib_unknown_parameter"

_WRONG_VALUES: tuple[tuple[str, Any], ...] = (
    ("object", {"toolcrib": "wrong"}),
    ("string", "toolcrib-wrong-type"),
    ("array", ["toolcrib"]),
    ("integer", 7),
    ("boolean", True),
)


class Subject(Exchange):
    """A running tool under examination."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """Of its parameters."""
        return self.tool.parameters

    @property
    def example(self) -> dict[str, Any] | None:
        """The first example of its parameters; else made of defaults, examples and choices, where they are enough."""
        for example in self.schema.get("examples") or ():
            if isinstance(example, Mapping):
                return dict(example)
        made = {name: _suggestion(self.properties.get(name, {})) for name in self.schema.get("required") or ()}
        return None if _NOTHING in made.values() else made

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of its parameters by name."""
        found = self.schema.get("properties")
        return found if isinstance(found, Mapping) else {}


async def check_health(subject: Subject) -> Finding:
    """``GET /health`` is exactly ``{"status":"ok"}``."""
    check = "health"
    answer = await subject.health()
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if answer.status != 200 or body != {"status": "ok"}:
        text = bytes(answer.body[:80]).decode("utf-8", "replace")
        return failed(check, f'GET /health answers {answer.status} {text!r}, not {{"status":"ok"}}')
    return passed(check, 'GET /health is {"status":"ok"}')


async def check_example(subject: Subject) -> Finding:
    """It answers its own example, and the answer fits ``output_schema``."""
    check = "example"
    if subject.example is None:
        return warned(check, "input_schema has no examples, so nobody can try it; add one that needs no credentials")
    reply = await subject.run(subject.example)
    if not reply.is_success:
        return failed(check, f"its own example fails: {reply}")
    problems = validate_output(subject.tool.output_schema, reply.result.data)
    if problems:
        return failed(check, f"the answer does not fit output_schema: {'; '.join(problems)}")
    return passed(check, "answers, and the answer fits output_schema" if subject.tool.output_schema else "answers")


async def check_required(subject: Subject) -> Finding:
    """Each required parameter that is missing gets a clear error."""
    check = "missing parameters"
    required = [str(name) for name in subject.schema.get("required") or ()]
    if not required:
        return passed(check, "none is required")
    complete = subject.example or {}
    for name in required:
        reply = await subject.run({key: value for key, value in complete.items() if key != name})
        if not reply.is_clear_error:
            return failed(check, f"without {name}: {_instead(reply)}")
        if subject.example is not None and name not in reply.error:
            return warned(check, f"the error without {name} does not name it: {reply.error}")
    return passed(check, f"a clear error without {', '.join(required)}")


async def check_types(subject: Subject) -> Finding:
    """Each parameter of a wrong type gets a clear error."""
    check = "wrong types"
    tried = 0
    for name, value in _wrong_values(subject):
        tried += 1
        reply = await subject.run({**(subject.example or {}), name: value})
        if not reply.is_clear_error:
            return failed(check, f"{name}={json.dumps(value)}: {_instead(reply)}")
        if subject.example is not None and name not in reply.error:
            return warned(check, f"the error for {name}={json.dumps(value)} does not name it: {reply.error}")
    return passed(check, f"a clear error for each of {tried} parameters" if tried else "there is nothing to refuse")


async def check_unknown_key(subject: Subject) -> Finding:
    """A parameter that does not exist does no harm, and is refused where the schema says so."""
    check = "unknown parameter"
    if subject.example is None:
        return passed(check, "not tried without an example")
    reply = await subject.run({**subject.example, UNKNOWN_KEY: 1})
    refuses = subject.schema.get("additionalProperties") is False
    if reply.is_clear_error:
        return passed(check, "refused with a clear error")
    if not reply.is_success:
        return failed(check, _instead(reply))
    return warned(check, "ignored, though additionalProperties is false") if refuses else passed(check, "ignored")


async def check_bodies(subject: Subject) -> Finding:
    """Bodies that are no JSON, no object or very large get an error, and the tool survives them."""
    check = "strange bodies"
    if subject.endpoint.method == "GET":
        return passed(check, "a GET has no body")
    large = json.dumps({UNKNOWN_KEY: "x" * LARGE_BODY_BYTES}).encode()
    for name, content in (
        ("no JSON", b"{'a': 1"),
        ("no UTF-8", b"\xff\xfe\x00"),
        ("nothing", b""),
        ("a list", b"[1, 2]"),
        ("null", b"null"),
        ("deep nesting", b"[" * 100_000),
    ):
        reply = await subject.send(content)
        if not reply.is_clear_error:
            return failed(check, f"{name}: {_instead(reply)}")
    reply = await subject.send(large)
    if reply.status == 0 or reply.status >= 500:
        return failed(check, f"1 MB: {_instead(reply)}")
    return passed(check, "no JSON, no object, 1 MB: each gets an error")


async def check_parallel(subject: Subject) -> Finding:
    """Eight calls at once are all right."""
    check = f"{PARALLEL_CALLS} calls at once"
    if subject.example is None:
        return passed(check, "not tried without an example")
    replies = await asyncio.gather(*(subject.run(subject.example) for _ in range(PARALLEL_CALLS)))
    wrong = [reply for reply in replies if not reply.is_success]
    if wrong:
        return failed(check, f"{len(wrong)} of {PARALLEL_CALLS} failed: {wrong[0]}")
    if subject.tool.idempotent and any(reply.result.data != replies[0].result.data for reply in replies):
        return warned(check, "the answers differ, though idempotent is true")
    return passed(check, "all answered")


async def check_survival(subject: Subject) -> Finding:
    """After all of this it still answers."""
    check = "still up"
    try:
        health = await check_health(subject)
    except Exception as error:
        return failed(check, f"it does not answer any more: {error or type(error).__name__}")
    return passed(check, "after all of this") if health.level == "pass" else failed(check, health.reason)


CHECKS = (
    check_health,
    check_example,
    check_required,
    check_types,
    check_unknown_key,
    check_bodies,
    check_parallel,
    check_survival,
)
"""All of them, in the order in which they make sense."""

_NOTHING = object()


def _suggestion(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return _NOTHING
    for keyword in ("examples", "enum"):
        values = schema.get(keyword)
        if isinstance(values, list) and values:
            return values[0]
    return schema.get("default", schema.get("const", _NOTHING))


def _wrong_values(subject: Subject) -> Iterator[tuple[str, Any]]:
    """For each parameter a value that its schema refuses outright, as long as there is one."""
    from toolcrib.definition.schema.check import compile_check

    for name in subject.properties:
        check = compile_check({"type": "object", "properties": {name: subject.properties[name]}}, root=subject.schema)
        for kind, value in _WRONG_VALUES:
            if subject.endpoint.method == "GET" and kind != "string":
                continue  # a query string has nothing but text
            if kind not in _declared(subject.properties[name]) and check({name: value}):
                yield name, value
                break


def _declared(schema: Any) -> tuple[str, ...]:
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    return tuple(kinds) if isinstance(kinds, list) else (str(kinds),)


def _instead(reply: Reply) -> str:
    return f"{reply} (instead of an error that blames the caller)" if reply.status >= 500 else str(reply)
