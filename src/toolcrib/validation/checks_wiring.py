"""Checks of how tools are put together: files, constructors, actions, services, groups (contract W007-W012, N050)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.injection import injections
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.services import injected_services, waiting_for
from toolcrib.registry.sources.positions import Location
from toolcrib.validation.chain_findings import ChainFinding, Fix, Say, Severity, is_shipped, mender_of
from toolcrib.validation.places import place_of, words_of
from toolcrib.validation.subject import ListedTool, Subject


def check_dependencies(subject: Subject) -> Iterator[ChainFinding]:
    """The tools that ``dependencies`` of a tools.json names exist."""
    known = {*subject.tool_names, *(definition.name for definition in subject.definitions)}
    disabled = {each.name for each in subject.listed} - known
    for each in subject.enabled:
        for key, names in (
            ("input_sources", each.entry.dependencies.input_sources),
            ("output_for", each.entry.dependencies.output_for),
        ):
            for index, name in enumerate(names):
                if name in known:
                    continue
                place = subject.places.in_file(each.path, (*each.location, "dependencies", key, index))
                why, why_zh = ("is disabled", "已停用") if name in disabled else ("does not exist", "不存在")
                message = Say(
                    f"{each.name}: {key} refers to {name!r}, which {why}",
                    f"{each.name}：{key} 引用的 {name!r} {why_zh}",
                )
                close = nearest(name, known, limit=1)
                hint = Say(f"did you mean {close[0]!r}?", f"是否指 {close[0]!r}？") if close else None
                severity: Severity = "fail" if key == "input_sources" else "warn"
                yield ChainFinding(severity, message, place, mender_of(place), hint, each.name)


def check_constructors(subject: Subject) -> Iterator[ChainFinding]:
    """Every enabled entry of a tools.json can be made: its class is found and takes its ``config``."""
    for each in subject.enabled:
        if each.name not in subject.tools:
            yield from (_reported(problem, each.name) for problem in subject.problems if _is_about(problem, each))


def check_actions(subject: Subject) -> Iterator[ChainFinding]:
    """The actions that a tools.json declares are those that the code has (contract W012)."""
    for each in subject.enabled:
        declared, made = (
            each.entry.actions,
            action_of(subject.tools[each.name][0]) if each.name in subject.tools else None,
        )
        if declared is None or made is None:
            continue
        there = [action.name for action in made.tool.get_actions()]
        kept = [action for action in dict.fromkeys(declared) if action in there]
        wanted = kept + [action for action in there if action not in kept]
        location = (*each.location, "actions")
        what = Say(f"{each.name}: set actions to {', '.join(wanted)}", f"{each.name}：actions 改为 {', '.join(wanted)}")
        fix = None if is_shipped(each.path) else Fix(each.path, location, wanted, what)
        for index, action in enumerate(declared):
            if action not in there or action in declared[:index]:
                place = subject.places.in_file(each.path, (*location, index))
                close = nearest(action, there, limit=1)
                hint = Say(f"did you mean {close[0]!r}?", f"是否指 {close[0]!r}？") if close else None
                message = (
                    Say(f"{each.name} has no action {action!r}", f"{each.name} 没有动作 {action!r}")
                    if action not in there
                    else Say(f"{each.name}: the action {action!r} stands twice", f"{each.name}：动作 {action!r} 重复")
                )
                yield ChainFinding("fail", message, place, mender_of(place), hint, each.name, fix)
        missing = [action for action in there if action not in declared]
        if missing:
            place = subject.places.in_file(each.path, location)
            message = Say(
                f"{each.name} also has {', '.join(missing)}, which its entry does not offer",
                f"{each.name} 还有动作 {', '.join(missing)}，但未在 actions 中声明",
            )
            hint = Say("add them, or leave actions out", "请补上，或省略 actions")
            yield ChainFinding("fail", message, place, mender_of(place), hint, each.name, fix)


def check_services(subject: Subject) -> Iterator[ChainFinding]:
    """What tools need from outside is there: services that somebody registers, and credentials."""
    for tool, definitions in subject.tools.items():
        missing = dict.fromkeys(name for each in definitions for name in waiting_for(each, subject.registry.services))
        needed = {name for each in definitions for name in _required(each)}
        for name in missing:
            if name in subject.tools:
                continue
            hint = Say(f"register_service({name!r}, …)", f"register_service({name!r}, …)")
            message = Say(f"{tool} is waiting for the service {name!r}", f"{tool} 正在等待服务 {name!r}")
            severity: Severity = "warn" if name in needed else "note"
            yield ChainFinding(severity, message, subject.place(tool), "operator", hint, tool)
        for each in definitions:
            signing = each.deployment.authentication if each.deployment else None
            absent = sorted({name for name in signing.secrets.values() if not _is_set(name)}) if signing else []
            if absent:
                place = subject.places.of(each, "auth")
                message = Say(
                    f"{tool} cannot be called before {', '.join(absent)} is set",
                    f"{tool} 缺少凭据：{', '.join(absent)}",
                )
                yield ChainFinding("note", message, place, "operator", tool=tool)


def _required(definition: ToolDefinition) -> tuple[str, ...]:
    """The services without which it does not run."""
    action = action_of(definition)
    return tuple(action.tool.requires) if action else tuple(injected_services(definition).values())


def _is_set(reference: str) -> bool:
    kind, _, name = reference.partition(":")
    return bool(os.environ.get(name)) if kind == "env" else Path(name).expanduser().is_file()


def check_groups(subject: Subject) -> Iterator[ChainFinding]:
    """A group's ``usage_order`` holds its tools, each once (contract T005)."""
    in_files = set()
    for path in subject.registry_files:
        document = subject.places.document(path)
        groups = document.data.get("groups") if document else None
        for index, group in enumerate(groups if isinstance(groups, list) else ()):
            members, order = (_texts(group, key) for key in ("tool_ids", "usage_order"))
            if members and order:
                in_files.add(group.get("group_id"))
                yield from _order(subject, str(group.get("group_id")), members, order, path, index)
    for group_id, known in subject.registry.groups.items():
        if group_id not in in_files:
            yield from _order(subject, group_id, list(known.tool_ids), list(known.usage_order))


def _order(
    subject: Subject, group_id: str, members: list[str], order: list[str], path: Path | None = None, index: int = 0
) -> Iterator[ChainFinding]:
    if sorted(order) == sorted(members):
        return
    location: Location = ("groups", index, "usage_order")
    place = subject.places.in_file(path, location) if path else None
    fix = None
    if path is not None and not is_shipped(path) and len(set(members)) == len(members):
        kept = [tool for tool in dict.fromkeys(order) if tool in members]
        wanted = kept + [tool for tool in members if tool not in kept]
        listed = ", ".join(wanted)
        fix = Fix(
            path,
            location,
            wanted,
            Say(f"{group_id}: set usage_order to {listed}", f"{group_id}：usage_order 改为 {listed}"),
        )
    message = Say(
        f"the usage_order of {group_id} is no permutation of its tool_ids",
        f"{group_id} 的 usage_order 不是 tool_ids 的排列",
    )
    hint = Say(f"tool_ids are {', '.join(members)}", f"tool_ids 为 {', '.join(members)}")
    yield ChainFinding("fail", message, place, mender_of(place), hint, fix=fix)


def check_injection(subject: Subject) -> Iterator[ChainFinding]:
    """Parameters that are filled only because of a tool's name are told (DESIGN §11.4)."""
    for definition in subject.definitions:
        if not definition.injected and injections(definition):
            place = subject.places.of(definition)
            message = Say(
                f"{definition.name} has project_id injected because its name begins with file_",
                f"{definition.name} 的名称以 file_ 开头，因此会注入 project_id",
            )
            hint = Say(
                'say so: injected={"project_id": "project_id"}', '建议写明 injected={"project_id": "project_id"}'
            )
            yield ChainFinding("note", message, place, mender_of(place), hint, definition.name)


def check_files(subject: Subject) -> Iterator[ChainFinding]:
    """The files that define tools are right; what another check has reported is not said twice."""
    yield from (_reported(problem, None) for problem in subject.problems)


def _reported(problem: SourceError, tool: str | None) -> ChainFinding:
    words, place = words_of(problem), place_of(problem)
    hint = Say(problem.hint, problem.hint) if problem.hint else None
    return ChainFinding("fail", Say(words, words), place, mender_of(place), hint, tool)


def _is_about(problem: SourceError, listed: ListedTool) -> bool:
    return problem.path == str(listed.path) and words_of(problem).startswith(f"tool {listed.name!r}: ")


def _texts(group: Any, key: str) -> list[str] | None:
    value = group.get(key) if isinstance(group, Mapping) else None
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None
