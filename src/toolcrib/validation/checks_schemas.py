"""Checks of what models are sent: schemas, tokens; and of how risky it is (contract W011, W027, M01)."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from toolcrib.definition.base_tool import BaseTool, action_of
from toolcrib.definition.dialects import Dialect, to_dialect
from toolcrib.definition.lazy_tool import LazyTool
from toolcrib.definition.tool import ToolDefinition
from toolcrib.exposure.tokens import schema_tokens
from toolcrib.registry.sources.schemas import schema_mistakes
from toolcrib.validation.chain_findings import ChainFinding, Place, Say, mender_of
from toolcrib.validation.places import code_place
from toolcrib.validation.subject import Subject

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


def check_schemas(subject: Subject) -> Iterator[ChainFinding]:
    """The schemas are valid, and so is what every provider's dialect makes of them."""
    for name, error in subject.unreadable.items():
        place = code_place(subject.registry.resolve(name))
        hint = getattr(error, "hint", None)
        message = Say(f"{name} cannot be read: {error}", f"{name} 无法读取：{error}")
        yield ChainFinding("fail", message, place, mender_of(place), Say(hint, hint) if hint else None, name)
    for tool, definitions in subject.tools.items():
        for definition in definitions:
            for problem in schema_problems(definition):
                key = ("output_schema",) if problem.startswith("output") else ("input_schema",)
                place = subject.places.of(definition, *key)
                message = Say(f"{definition.name}: {problem}", f"{definition.name}：{problem}")
                yield ChainFinding("fail", message, place, mender_of(place), tool=tool)


def schema_problems(definition: ToolDefinition) -> list[str]:
    """What is wrong with a tool's schemas, or with what a dialect makes of them; empty where all is well."""
    found = []
    for what, schema in (("input schema", definition.parameters), ("output schema", definition.output_schema)):
        if schema is not None:
            mistakes = schema_mistakes(schema, of_object=what == "input schema")
            found += [f"{what}: {_at(mistake.location)}{mistake.message}" for mistake in mistakes]
    properties = definition.parameters.get("properties")
    required = definition.parameters.get("required")
    if isinstance(properties, Mapping) and isinstance(required, list):
        found += [f"input schema: required names {name!r}, no property" for name in required if name not in properties]
    return found or [problem for dialect in DIALECTS for problem in _dialect_problems(definition, dialect)]


def _dialect_problems(definition: ToolDefinition, dialect: Dialect) -> Iterator[str]:
    try:
        sent = to_dialect(definition, dialect)
        json.dumps(sent, allow_nan=False)
    except Exception as error:
        yield f"it cannot be sent in the form {dialect}: {type(error).__name__}: {error}"
        return
    function = sent.get("function", sent)
    schema = function.get("parameters") or function.get("input_schema") or function.get("inputSchema")
    if schema is not None and dialect != "gemini":  # whose "nullable" and the like are OpenAPI's
        for mistake in schema_mistakes(schema, of_object=True):
            yield f"the form {dialect} is no valid schema: {_at(mistake.location)}{mistake.message}"


def _at(location: tuple[str | int, ...]) -> str:
    return f"{'.'.join(map(str, location))}: " if location else ""


def check_risk(subject: Subject) -> Iterator[ChainFinding]:
    """Risk fits effects: who writes or reaches outside is of low risk only where the author says so outright."""
    for tool, definitions in subject.tools.items():
        careless = [
            each
            for each in definitions
            if each.effects in ("write", "external") and each.risk == "low" and not _says_risk(subject, each)
        ]
        for each in careless:
            place = subject.places.of(each, "effects")
            message = Say(
                f"{each.name} has the effects {each.effects!r} and the risk low by default",
                f"{each.name} 的 effects 为 {each.effects!r}，而 risk 默认为 low",
            )
            hint = Say(
                'say risk="medium" or "high", or "low" outright', '请写明 risk="medium" 或 "high"；确为低风险也请写明'
            )
            yield ChainFinding("warn", message, place, mender_of(place), hint, tool)
        action = action_of(definitions[0])
        if action and action.tool.require_confirmation and any(each.risk == "low" for each in definitions):
            place = _confirmation_place(subject, tool)
            message = Say(f"{tool} requires confirmation, and its risk is low", f"{tool} 需要确认，但 risk 为 low")
            hint = Say("raise the risk, or do not ask", "请提高 risk，或取消确认")
            yield ChainFinding("warn", message, place, mender_of(place), hint, tool)


def _confirmation_place(subject: Subject, tool: str) -> Place | None:
    for each in subject.enabled:
        if each.name == tool and each.entry.security.require_confirmation:
            return subject.places.in_file(each.path, (*each.location, "security", "require_confirmation"))
    return subject.place(tool)


def _says_risk(subject: Subject, definition: ToolDefinition) -> bool:
    """Whether the author wrote the risk down, so that low is no oversight."""
    action = action_of(definition)
    if action is not None:
        tool = action.tool
        own = next((each for each in tool.get_actions() if each.name == action.action), None)
        classes = tool.tool_class.__mro__[: tool.tool_class.__mro__.index(BaseTool)]
        in_object = not isinstance(tool, LazyTool) and "risk" in vars(tool)
        listed = (each.entry.security for each in subject.enabled if each.name == tool.name)
        return (
            (own is not None and own.risk is not None)
            or in_object
            or any("risk" in vars(each) for each in classes)
            or any("risk_level" in security.model_fields_set for security in listed)
        )
    if definition.deployment is not None:
        return subject.places.says(definition, "risk")
    return _decorator_says_risk(definition.signature.function if definition.signature else definition.handler)


def _decorator_says_risk(function: Any) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    decorators = [each for node in tree.body for each in getattr(node, "decorator_list", ())]
    return any(keyword.arg == "risk" for each in decorators if isinstance(each, ast.Call) for keyword in each.keywords)


def check_tokens(subject: Subject) -> Iterator[ChainFinding]:
    """What a model must read of the tools stays within bounds; ASCII counts a quarter of a token a character."""
    limits, total = subject.limits, 0
    for tool, definitions in subject.tools.items():
        costs = {each.name: _tokens(each) for each in definitions}
        total += sum(costs.values())
        place = subject.place(tool, "input_schema")
        large = [(name, cost, limits.function_tokens) for name, cost in costs.items() if cost > limits.function_tokens]
        if not large and sum(costs.values()) > limits.tool_tokens:
            large = [(tool, sum(costs.values()), limits.tool_tokens)]
        for name, cost, most in large:
            message = Say(f"{name} costs about {cost} tokens, over {most}", f"{name} 约需 {cost} 个 token，超过 {most}")
            hint = Say("shorten the descriptions, or split it", "请缩短描述或拆分")
            yield ChainFinding("warn", message, place, mender_of(place), hint, tool)
    if total > limits.all_tokens:
        message = Say(
            f"all tools together cost about {total} tokens, over {limits.all_tokens}",
            f"全部工具约需 {total} 个 token，超过 {limits.all_tokens}",
        )
        hint = Say("show a model the few it needs", "请按需暴露工具")
        yield ChainFinding("warn", message, None, "operator", hint)


def total_tokens(subject: Subject) -> int:
    """About how many tokens all tools cost together."""
    return sum(_tokens(each) for each in subject.definitions)


def _tokens(definition: ToolDefinition) -> int:
    try:
        return schema_tokens(to_dialect(definition, "openai"))
    except Exception:  # reported by check_schemas
        return 0
