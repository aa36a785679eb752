"""Tools of several actions: definition, schema, registration and resolution."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.definition.base_tool import ActionDef, BaseTool, action_of, definitions_of, snake_case
from toolcrib.definition.invoke import invoke
from toolcrib.definition.lazy_tool import LazyTool
from toolcrib.definition.result import ToolResult, ToolResultStatus
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, DuplicateToolError, UnknownToolError
from toolcrib.registry.registry import ToolRegistry

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
PATH = {"path": {"type": "string", "description": "A file."}}


class NotesTool(BaseTool):
    """Two actions, one of which needs a parameter."""

    title = "Notes"

    def get_actions(self) -> list[ActionDef]:
        return [
            ActionDef("read", "Reads a note.", PATH, ["path"], effects="read"),
            ActionDef(name="list_all", description="Lists all notes."),
        ]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult(status=ToolResultStatus.SUCCESS, output=f"{action} {params}")


def tool_of(tool_name: str, *actions: str) -> BaseTool:
    """A tool of that name with these actions, which answer their own names."""

    class Made(BaseTool):
        name = tool_name

        def get_actions(self) -> list[ActionDef]:
            return [ActionDef(action, f"Does {action}.") for action in actions]

        async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
            return ToolResult(True, [tool_name, action])

    return Made()


def registry_of(*tools: BaseTool) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.register_tool(tool)
    return registry


class Acting(BaseTool):
    """One action, whose body the test gives."""

    timeout: float | None = 0.05 * SLACK

    def __init__(self, act: Any) -> None:
        self.act = act

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("act", "Acts.", {"count": {"type": "integer"}}, ["count"])]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        result: ToolResult = await self.act(params)
        return result


def test_W001_what_a_class_does_not_say_has_defaults() -> None:
    tool = NotesTool()
    assert (tool.name, tool.emoji, tool.timeout, tool.description) == ("notes", "🔧", 60, "")


def test_W001_a_name_is_inherited_where_it_was_written_and_derived_where_not() -> None:
    class PDFReaderTool(NotesTool):
        pass

    class Named(NotesTool):
        name = "my_notes"

    class Heir(Named):
        pass

    assert (PDFReaderTool.name, Named.name, Heir.name) == ("pdf_reader", "my_notes", "my_notes")
    assert snake_case("RemoteFileShareTool") == "remote_file_share"


def test_W004_one_function_for_each_action_with_exactly_its_description() -> None:
    assert NotesTool().get_schema() == [
        {
            "type": "function",
            "function": {
                "name": "notes_read",
                "description": "Reads a note.",
                "parameters": {"type": "object", "properties": PATH, "required": ["path"]},
            },
        },
        {
            "type": "function",
            "function": {
                "name": "notes_list_all",
                "description": "Lists all notes.",
                "parameters": {"type": "object", "properties": {}, "required": []},
            },
        },
    ]


def test_W001_a_definition_knows_its_action_and_the_facts_of_its_tool() -> None:
    read, list_all = definitions_of(NotesTool())
    action = action_of(read)
    assert action is not None
    assert action.pair == ("notes", "read")
    assert (read.title, read.emoji, read.timeout, read.category) == ("Notes", "🔧", 60, "general")
    assert (read.effects, list_all.effects) == ("read", None)


async def test_W001_a_call_has_a_status_and_a_duration() -> None:
    result = await NotesTool().safe_execute("read", {"path": "a.txt"})
    assert result.status is ToolResultStatus.SUCCESS
    assert result.output == "read {'path': 'a.txt'}"
    assert result.duration_ms is not None


async def test_W001_a_call_that_takes_too_long_is_a_timeout() -> None:
    async def act(params: dict[str, Any]) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    result = await Acting(act).safe_execute("act", {"count": 1})
    assert result.status is ToolResultStatus.TIMEOUT
    assert result.error is not None
    assert "acting.act did not answer within" in result.error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such note"), "ValueError: no such note"),
        (TimeoutError("upstream"), "upstream"),
        (SystemExit(3), "The tool ended itself: exit 3"),
    ],
)
async def test_W001_an_exception_is_an_error(error: BaseException, text: str) -> None:
    async def act(params: dict[str, Any]) -> ToolResult:
        raise error

    result = await Acting(act).safe_execute("act", {"count": 1})
    assert (result.success, result.error) == (False, text)


async def test_W001_a_cancelled_call_is_a_status_too() -> None:
    started = asyncio.Event()

    async def act(params: dict[str, Any]) -> ToolResult:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    tool = Acting(act)
    tool.timeout = None
    task = asyncio.create_task(tool.safe_execute("act", {"count": 1}))
    await started.wait()
    task.cancel()
    assert (await task).status is ToolResultStatus.CANCELLED


async def test_W001_parameters_are_checked_before_the_action_runs() -> None:
    async def act(params: dict[str, Any]) -> ToolResult:
        return ToolResult(True, params)

    refused = await Acting(act).safe_execute("act", {"count": "many"})
    assert refused.error_code == "invalid_params"
    assert (await Acting(act).safe_execute("act", {"count": "3"})).data == {"count": 3}
    registry = registry_of(Acting(act))
    assert registry.execute("acting_act", {})["error"].startswith("count: expected integer, got nothing")


async def test_W001_an_unknown_action_names_the_one_that_was_meant() -> None:
    result = await NotesTool().safe_execute("reed", {})
    assert (result.error, result.hint) == ("The tool notes has no action 'reed'", "Did you mean 'read'?")


async def test_W003_an_action_may_return_plain_data() -> None:
    async def act(params: dict[str, Any]) -> Any:
        return {"success": False, "error": "no"}

    assert (await Acting(act).safe_execute("act", {"count": 1})).to_dict() == {
        "success": False,
        "data": None,
        "error": "no",
    }


def broken(actions: Any) -> BaseTool:
    class Broken(BaseTool):
        def get_actions(self) -> list[ActionDef]:
            return actions  # type: ignore[no-any-return]

        async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
            raise AssertionError

    return Broken()


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (None, r"get_actions\(\) of Broken gave no actions"),
        ([], r"get_actions\(\) of Broken gave no actions"),
        ([{"name": "read"}], "something else than ActionDefs"),
        ([ActionDef("", "")], "an action without a name"),
        ([ActionDef("a", ""), ActionDef("a", "")], "two actions named 'a'"),
        (
            [ActionDef("a", "", {"type": "object", "properties": {}})],
            "'type' of broken.a is 'object', which is no JSON",
        ),
        ([ActionDef("a", "", PATH, ["paht"])], "requires 'paht', which is not among its parameters"),
        ([ActionDef("a", "", PATH, "path")], "required_params of broken.a is a text"),
    ],
)
def test_W002_what_is_wrong_with_an_action_is_said_at_registration(actions: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        registry_of(broken(actions))


def test_W001_execute_must_be_asynchronous() -> None:
    class Blocking(BaseTool):
        def get_actions(self) -> list[ActionDef]:
            return [ActionDef("act", "Acts.")]

        def execute(self, action: str, params: dict[str, Any]) -> ToolResult:  # type: ignore[override]
            return ToolResult(True)

    with pytest.raises(DefinitionError, match=r"execute\(\) of Blocking is not asynchronous"):
        registry_of(Blocking())


def test_W019_registered_functions_run_and_their_tool_is_found() -> None:
    notes = NotesTool()
    registry = registry_of(notes)
    assert [tool.name for tool in registry] == ["notes_read", "notes_list_all"]
    assert registry.get_tool("notes") is notes
    assert registry.get_tool("diary") is None
    assert registry.execute("notes_read", {"path": "a"})["data"] == "read {'path': 'a'}"


def test_E035_names_are_resolved_by_what_is_registered_never_by_guessing() -> None:
    registry = registry_of(
        tool_of("file", "share_list"),
        tool_of("file_share", "send"),
        tool_of("browser", "open"),
        tool_of("browser_use", "click"),
    )
    assert registry.resolve_action("file_share_send") == ("file_share", "send")
    assert registry.resolve_action("file_share_list") == ("file", "share_list")
    assert registry.resolve_action("browser_use_click") == ("browser_use", "click")
    for name in ("nosuch_do", "nosuch", "file_share", "browser_click", "file.share.send"):
        with pytest.raises(UnknownToolError, match="No tool has the action"):
            registry.resolve_action(name)


def test_W019_an_action_is_also_found_by_tool_dot_action() -> None:
    registry = registry_of(tool_of("remote_file_share", "send_file"))
    assert registry.resolve_action("remote_file_share.send_file") == ("remote_file_share", "send_file")
    assert registry.resolve("remote_file_share.send_file").name == "remote_file_share_send_file"
    assert registry.execute("remote_file_share.send_file", {})["data"] == ["remote_file_share", "send_file"]


def test_W019_a_tool_without_actions_is_no_action() -> None:
    registry = ToolRegistry()
    registry.register(ToolDefinition("ping", "Pongs.", {"type": "object"}, lambda arguments: "pong"))
    with pytest.raises(UnknownToolError) as caught:
        registry.resolve_action("ping")
    assert caught.value.hint == "'ping' is a tool without actions."


NAMES = st.text(st.sampled_from("ab_."), min_size=1, max_size=6)


@given(tools=st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=4, unique=True), max_size=6))
@settings(deadline=None)
def test_W019_every_registered_pair_resolves_back(tools: dict[str, list[str]]) -> None:
    registry = ToolRegistry()
    registered: list[tuple[str, str]] = []
    for name, actions in tools.items():
        try:
            registry.register_tool(tool_of(name, *actions))
        except DuplicateToolError:
            continue
        registered += [(name, action) for action in actions]
    for name, action in registered:
        assert registry.resolve_action(f"{name}_{action}") == (name, action)
        assert registry.resolve_action(f"{name}.{action}") == (name, action)
        assert registry.execute(f"{name}_{action}", {})["data"] == [name, action]
    assert len(registry) == len(registered)


def names_of(tools: Iterable[ToolDefinition]) -> list[str]:
    return [tool.name for tool in tools]


def test_W004_a_collision_of_two_tools_is_refused_with_both_named() -> None:
    registry = registry_of(tool_of("file_share", "list"))
    with pytest.raises(DuplicateToolError) as caught:
        registry.register_tool(tool_of("file", "read", "share_list"))
    assert str(caught.value) == (
        "The action 'share_list' of the tool 'file' and the action 'list' of the tool 'file_share' "
        "are both called 'file_share_list'"
    )
    assert names_of(registry) == ["file_share_list"], "all actions of a tool are registered or none"


def test_W004_a_function_and_an_action_of_one_name_are_refused_with_both_named() -> None:
    ping = ToolDefinition("net_ping", "Pongs.", {"type": "object"}, lambda arguments: "pong", source="my.tools")
    registry = ToolRegistry()
    registry.register(ping)
    with pytest.raises(DuplicateToolError, match=r"'ping' of the tool 'net' and the tool 'net_ping' of my.tools"):
        registry.register_tool(tool_of("net", "ping"))
    registry = registry_of(tool_of("net", "ping"))
    with pytest.raises(DuplicateToolError, match=r"'net_ping' and the action 'ping' of the tool 'net'"):
        registry.register(ping)


def test_W004_a_name_with_a_dot_may_not_be_that_of_an_action() -> None:
    registry = registry_of(tool_of("net", "ping"))
    with pytest.raises(DuplicateToolError, match=r"are both called 'net\.ping'"):
        registry.register(ToolDefinition("net.ping", "Pongs.", {"type": "object"}))


def test_W004_two_objects_of_one_name_are_refused_unless_one_gives_way() -> None:
    registry = registry_of(tool_of("net", "ping", "trace"))
    newer = tool_of("net", "ping", "scan")
    with pytest.raises(DuplicateToolError, match="Two tools are named 'net': "):
        registry.register_tool(newer)
    registry.register_tool(newer, replace=True)
    assert names_of(registry) == ["net_ping", "net_scan"]
    assert registry.get_tool("net") is newer
    with pytest.raises(UnknownToolError):
        registry.resolve_action("net_trace")


def test_W019_what_is_unregistered_is_no_longer_resolved() -> None:
    registry = registry_of(tool_of("net", "ping", "trace"))
    registry.unregister("net_ping")
    assert registry.get_tool("net") is not None
    registry.unregister("net_trace")
    assert registry.get_tool("net") is None
    with pytest.raises(UnknownToolError):
        registry.resolve_action("net.ping")


def test_a_tool_of_dozens_of_actions_is_one_class() -> None:
    registry = registry_of(tool_of("office", *(f"action_{index}" for index in range(60))))
    assert len(registry) == 60
    assert registry.resolve_action("office_action_59") == ("office", "action_59")


def test_a_lazy_tool_is_made_at_its_first_call() -> None:
    made: list[BaseTool] = []

    class Slow(BaseTool):
        timeout = 5

        @classmethod
        def get_actions(cls) -> list[ActionDef]:
            return [ActionDef("act", "Acts.")]

        async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
            return ToolResult(True, action)

    def make() -> BaseTool:
        made.append(Slow())
        return made[-1]

    registry = registry_of(LazyTool(Slow, make))
    assert registry.resolve("slow_act").timeout == 5
    assert made == []
    assert registry.execute("slow_act", {})["data"] == "act"
    assert registry.get_tool("slow") is made[0]
    assert len(made) == 1


def test_W001_a_definition_runs_by_itself() -> None:
    assert invoke(definitions_of(NotesTool())[1], {}).output == "list_all {}"
