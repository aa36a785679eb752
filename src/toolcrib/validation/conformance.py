"""Checks of a running tool, each a function that asks it something over HTTP (contract T025).

The tool's process is asked directly: what it does with wrong parameters is its own doing, not the router's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import validate_output
from toolcrib.validation.exchange import Answer, ask
from toolcrib.validation.findings import Finding, failed, passed, warned

if TYPE_CHECKING:
    import httpx2

    from toolcrib.runtime.status import Endpoint

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


@dataclass(frozen=True, slots=True)
class Subject:
    """A running tool under examination.

    Attributes:
        tool: what its files say of it.
        endpoint: where its process answers.
        client: asks it.
    """

    tool: ToolDefinition
    endpoint: Endpoint
    client: httpx2.AsyncClient

    @property
    def schema(self) -> Mapping[str, Any]:
        """Of its parameters."""
        return self.tool.parameters

    @property
    def example(self) -> dict[str, Any] | None:
        """The first example of its parameters; made up where every required one has a default, an example or a choice."""
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

    async def ask(self, params: Mapping[str, Any]) -> Answer:
        """Run it once."""
        return await ask(self.client, self.endpoint, params)


async def check_health(subject: Subject) -> Finding:
    """``GET /health`` is exactly ``{"status":"ok"}``."""
    check = "health"
    response = await subject.client.get(f"http://127.0.0.1:{subject.endpoint.port}/health")
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.status_code != 200 or body != {"status": "ok"}:
        return failed(check, f'GET /health answers {response.status_code} {response.text[:80]!r}, not {{"status":"ok"}}')
    return passed(check, 'GET /health is {"status":"ok"}')


async def check_example(subject: Subject) -> Finding:
    """It answers its own example, and the answer fits ``output_schema``."""
    check = "example"
    if subject.example is None:
        return warned(check, "input_schema has no examples, so nobody can try it: add one that works without credentials")
    answer = await subject.ask(subject.example)
    if answer.status != 200 or answer.error is not None:
        return failed(check, f"its own example fails: {answer.error or answer}")
    problems = validate_output(subject.tool.output_schema, answer.result)
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
        answer = await subject.ask({key: value for key, value in complete.items() if key != name})
        if not answer.is_clear_error:
            return failed(check, f"without {name}: {_instead(answer)}")
        if subject.example is not None and name not in str(answer.error):
            return warned(check, f"the error without {name} does not name it: {answer.error}")
    return passed(check, f"a clear error without {', '.join(required)}")


async def check_types(subject: Subject) -> Finding:
    """Each parameter of a wrong type gets a clear error."""
    check = "wrong types"
    tried = 0
    for name, value in _wrong_values(subject):
        tried += 1
        answer = await subject.ask({**(subject.example or {}), name: value})
        if not answer.is_clear_error:
            return failed(check, f"{name}={json.dumps(value)}: {_instead(answer)}")
        if subject.example is not None and name not in str(answer.error):
            return warned(check, f"the error for {name}={json.dumps(value)} does not name it: {answer.error}")
    return passed(check, f"a clear error for each of {tried} parameters" if tried else "every parameter takes every type")


async def check_unknown_key(subject: Subject) -> Finding:
    """A parameter that does not exist does no harm, and is refused where the schema says so."""
    check = "unknown parameter"
    if subject.example is None:
        return passed(check, "not tried without an example")
    answer = await subject.ask({**subject.example, UNKNOWN_KEY: 1})
    refuses = subject.schema.get("additionalProperties") is False
    if answer.is_clear_error:
        return passed(check, "refused with a clear error")
    if answer.status != 200 or answer.error is not None:
        return failed(check, _instead(answer))
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
        answer = await ask(subject.client, subject.endpoint, content=content)
        if not answer.is_clear_error:
            return failed(check, f"{name}: {_instead(answer)}")
    answer = await ask(subject.client, subject.endpoint, content=large)
    if answer.status == 0 or answer.status >= 500:
        return failed(check, f"1 MB: {_instead(answer)}")
    return passed(check, "no JSON, no object, 1 MB: each gets an error")


async def check_parallel(subject: Subject) -> Finding:
    """Eight calls at once are all right."""
    check = f"{PARALLEL_CALLS} calls at once"
    if subject.example is None:
        return passed(check, "not tried without an example")
    answers = await asyncio.gather(*(subject.ask(subject.example) for _ in range(PARALLEL_CALLS)))
    wrong = [answer for answer in answers if answer.status != 200 or answer.error is not None]
    if wrong:
        return failed(check, f"{len(wrong)} of {PARALLEL_CALLS} failed: {wrong[0].error or wrong[0]}")
    if subject.tool.idempotent and any(answer.result != answers[0].result for answer in answers):
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


def _instead(answer: Answer) -> str:
    if answer.status == 0:
        return answer.text
    if answer.status >= 500:
        return f"HTTP {answer.status} instead of an error that blames the caller: {answer.error or answer.text}"
    if answer.error is None:
        return f"accepted: {answer.text[:120]}"
    return f"no JSON error: {answer}"

