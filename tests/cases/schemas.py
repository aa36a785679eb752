"""Cases of the form `schemas`: Python that defines a tool → facts about its schema, and what calls give."""

from __future__ import annotations

import ast
import copy
import json
import signal
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.cases import facts, processes
from toolcrib.crib import Crib, use
from toolcrib.definition.base_tool import BaseTool, definitions_of
from toolcrib.definition.context import Context
from toolcrib.definition.decorator import define
from toolcrib.definition.dialects import to_dialect
from toolcrib.definition.invoke import invoke
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import ToolcribError
from toolcrib.registry.names import aliases
from toolcrib.registry.registry import ToolRegistry

Case = Mapping[str, Any]
NAMES = ("f", "add", "depth")
SECONDS = 10


def is_case(case: Case) -> bool:
    """Whether a case has this form: Python that defines a tool, and no steps to play."""
    given = case.get("input")
    return isinstance(given, Mapping) and "python" in given and "steps" not in given


def run(case: Case) -> list[str]:
    """The differences between what is expected and what comes; empty = the case passed."""
    expected = case.get("expected") or {}
    outcomes = [expected, *(expected.get("allowed") or ()), *(case.get("allowed") or ())]
    differences: list[str] = []
    try:
        with deadline(SECONDS):
            for one in outcomes:
                found = differences_of(case, one)
                if not found:
                    return []
                differences = differences or found
    except TimeoutError:
        return [f"an outcome within {SECONDS} s, none came"]
    return differences


@contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in the body after so many seconds."""

    def ring(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def differences_of(case: Case, expected: Mapping[str, Any]) -> list[str]:
    """Compare the case with one outcome."""
    given = case["input"]
    wanted = expected.get("register", given.get("register", "ok"))
    try:
        tools = register(given, str(case.get("id", "case")))
    except ToolcribError as error:
        return compare_refusal(wanted, error)
    if isinstance(wanted, str) and wanted != "ok":
        return [f"registration: expected {wanted}, got ok"]
    subject = subject_of(tools, given.get("dialect"))
    subject.across_processes = lambda: processes.fingerprints(case)
    found = [text for fact in expected.get("facts", ()) if (text := facts.difference(subject, *fact))]
    results = expected.get("call_results")
    if results is not None:
        found += compare_calls(tools[0], given, results)
    return found


def register(given: Mapping[str, Any], name: str) -> list[ToolDefinition]:
    """Define and register the case's tool, once under each name."""
    crib = Crib()
    with use(crib):
        function = evaluate(given["python"], f"toolcrib_case_{name}")
    names = given.get("tool_names") or [given.get("tool_name")]
    registry = ToolRegistry(crib.services)
    for one in names:
        for tool in definitions(function, crib.registry, one):
            registry.register(tool)
    tools = list(registry)
    for tool in tools:
        _ = tool.parameters, tool.description, tool.output_schema
    aliases(tool.name for tool in tools)
    return tools


def definitions(function: Any, decorated: ToolRegistry, name: str | None) -> list[ToolDefinition]:
    """What the case's function, object or class is as a tool; one that it decorated itself stays as it is."""
    if isinstance(function, type) and (issubclass(function, BaseTool) or "__call__" in vars(function)):
        function = function()
    if isinstance(function, BaseTool):
        return definitions_of(function)
    known = function if isinstance(function, ToolDefinition) else None
    known = known or next((one for one in decorated if one.handler is function), None)
    if known is None:
        return [define(function, name=name)]
    tool = copy.copy(known)
    tool.name = name or tool.name
    return [tool]


def evaluate(source: str, module_name: str) -> Any:
    """Run the case's Python as a module and return what it defines last under one of the known names."""
    module = types.ModuleType(module_name)
    sys.modules[module_name] = module
    exec(compile(source, module_name, "exec", dont_inherit=True), module.__dict__)
    last = None
    for node in ast.parse(source).body:
        targets = [getattr(node, "name", None)]
        if isinstance(node, ast.Assign):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            targets = [node.target.id]
        last = next((name for name in targets if name in NAMES), last)
    if last is None:
        return ToolDefinition(
            "echo", "Gives back its arguments.", module.__dict__["SCHEMA"], lambda arguments: arguments
        )
    return getattr(module, last)


def compare_refusal(wanted: Any, error: ToolcribError) -> list[str]:
    """Whether a refused registration was expected, and says what it should."""
    text = f"{error} {error.hint or ''}".casefold()
    if isinstance(wanted, Mapping):
        mentions = wanted.get("allowed_raise_mentions", [])
        missing = [mention for mention in mentions if str(mention).casefold() not in text]
        return [f"registration error: expected {missing} mentioned, got {error}"] if missing else []
    if not str(wanted).startswith("error"):
        return [f"registration: expected {wanted}, got {error}"]
    mentions = [part.strip() for part in str(wanted).partition(":")[2].split(",") if part.strip()]
    missing = [one for one in mentions if not any(word.strip().casefold() in text for word in one.split("|"))]
    return [f"registration: expected {wanted}, got {error}"] if missing else []


def subject_of(tools: list[ToolDefinition], dialect: str | None) -> facts.Subject:
    """What the facts speak about: the neutral definition, or the first tool in a dialect."""
    tool = tools[0]
    if dialect is None:
        listed: list[dict[str, Any]] = [one.to_openai_format() for one in tools]
        subject = facts.Subject(dict(tool.parameters), tool.name, tool.description, tool.output_schema, listed)
    else:
        listed = [to_dialect(one, dialect) for one in tools]  # type: ignore[arg-type]
        entry = listed[0].get("function", listed[0])
        schema = next(
            (entry[key] for key in ("parameters", "input_schema", "inputSchema") if key in entry), {"type": "object"}
        )
        subject = facts.Subject(schema, entry["name"], entry["description"], tool.output_schema, listed)
        subject.own = {
            key: entry[key]
            for key in ("strict", "annotations", "defer_loading", "outputSchema", "title")
            if key in entry
        }
    subject.names = [one.get("function", one)["name"] for one in listed]
    subject.own["dispatch_back"] = aliases(one.name for one in tools).get(subject.name, subject.name)
    return subject


def compare_calls(tool: ToolDefinition, given: Mapping[str, Any], results: list[Any]) -> list[str]:
    """Call the tool with each of the arguments and compare what comes."""
    context = Context(**given.get("context", {}))
    found = []
    for arguments, expected in zip(given.get("calls", ()), results, strict=True):
        result = invoke(tool, arguments, context)
        if not is_result(result, expected):
            came = plain(result.data) if result.success else f"ERROR: {result.error}"
            found.append(f"call {json.dumps(arguments)}: expected {expected!r}, got {came!r}")
    return found


def is_result(result: ToolResult, expected: Any) -> bool:
    """Whether a result is the expected one; ``ERROR: words`` is an argument error that contains all of the words."""
    if isinstance(expected, str) and expected.startswith("ERROR"):
        text = (result.error or "").casefold()
        alternatives = expected.partition(":")[2].split("|")
        return result.error_code == "invalid_params" and any(
            all(word.casefold() in text for word in alternative.split()) for alternative in alternatives
        )
    if not result.success:
        return False
    came = plain(result.data)
    if isinstance(expected, str) and isinstance(came, str) and came != expected:
        return came in expected.split("|")
    return type(came) is type(expected) and bool(came == expected)


def plain(value: Any) -> Any:
    """A result as JSON has it."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=repr)
