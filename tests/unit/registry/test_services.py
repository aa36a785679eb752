"""Services that tools share, and how they reach the tools."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolcrib.definition.base_tool import ActionDef, BaseTool
from toolcrib.definition.lazy_tool import LazyTool
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, DependencyMissingError
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.services import Services, injected_services, waiting_for, waiting_reason

INJECTED = "已为 share 工具注入 bridge_client"


class ShareTool(BaseTool):
    """S3's way: a setter, and an attribute that is None until it was called."""

    def __init__(self) -> None:
        self._bridge_client: Any = None

    def set_bridge_client(self, bridge_client: Any) -> None:
        self._bridge_client = bridge_client

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("send", "Sends.")]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        if not self._bridge_client:
            return ToolResult.fail("not ready")
        return ToolResult(True, self._bridge_client)


class AskTool(BaseTool):
    """Our way: what it requires is named, and looked up at each call."""

    requires = ("llm_client",)

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("ask", "Asks.")]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult(True, self.service("llm_client"))


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]


def test_N050_a_service_is_found_by_name_and_none_where_there_is_none() -> None:
    services = Services()
    assert services.get("llm_client") is None
    services.register("llm_client", "client")
    assert services.get("llm_client") == "client"
    services.register("llm_client", "other")
    assert services.get("llm_client") == "other"
    services.register("llm_client", None)
    assert "llm_client" not in services


def test_N050_a_missing_service_says_who_registers_it() -> None:
    services = Services()
    with pytest.raises(DependencyMissingError, match="multi_agent is waiting for the service 'llm_client'") as caught:
        services.require("llm_client", needed_by="multi_agent")
    assert caught.value.hint == "The application registers it: register_service('llm_client', …)."
    services.expect("llm_client", "The settings of the model, or the application,")
    with pytest.raises(DependencyMissingError) as caught:
        services.require("llm_client", needed_by="multi_agent")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("The settings of the model")


def test_W021_a_required_service_is_looked_up_at_the_call(registry: ToolRegistry) -> None:
    tool = AskTool()
    registry.register_tool(tool)
    assert waiting_for(tool, registry.services) == ("llm_client",)
    before = registry.execute("ask_ask", {})
    assert before["error"] == "The tool ask is waiting for the service 'llm_client'"
    registry.services.register("llm_client", "client")
    assert registry.execute("ask_ask", {})["data"] == "client"
    assert waiting_reason(tool, registry.services) is None


async def test_W021_a_tool_that_is_not_registered_says_so() -> None:
    result = await AskTool().safe_execute("ask")
    assert (result.error_code, result.error) == (
        "dependency_missing",
        "The tool ask is not registered, so it has no service 'llm_client'",
    )


@pytest.mark.parametrize("service_first", [True, False])
def test_W021_a_setter_is_called_whichever_comes_first(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture, service_first: bool
) -> None:
    caplog.set_level(logging.INFO)
    tool = ShareTool()
    if service_first:
        registry.services.register("bridge_client", "bridge")
    registry.register_tool(tool)
    if not service_first:
        registry.services.register("bridge_client", "bridge")
    assert registry.execute("share_send", {})["data"] == "bridge"
    assert messages(caplog) == [INJECTED]


def test_W021_a_tool_is_shown_as_waiting_until_its_setter_was_called(registry: ToolRegistry) -> None:
    tool = ShareTool()
    registry.register_tool(tool)
    definition = registry.resolve("share_send")
    assert waiting_reason(definition, registry.services) == "waiting for bridge_client"
    tool.set_bridge_client("by hand")
    assert waiting_reason(definition, registry.services) is None


def test_W021_a_setter_that_sets_no_such_attribute_is_no_wait(registry: ToolRegistry) -> None:
    class Player(ShareTool):
        def set_volume(self, volume: int) -> None:
            self._volume = volume

    assert waiting_for(Player(), registry.services) == ("bridge_client",)


def test_W021_a_required_service_may_be_set_by_hand(registry: ToolRegistry) -> None:
    class Strict(ShareTool):
        requires = ("bridge_client",)

    tool = Strict()
    registry.register_tool(tool)
    assert registry.execute("strict_send", {})["error"] == "The tool strict is waiting for the service 'bridge_client'"
    tool.set_bridge_client("by hand")
    assert registry.execute("strict_send", {})["data"] == "by hand"


@pytest.mark.parametrize("by_hand", [True, False])
def test_W021_re_registration_keeps_what_was_injected(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture, by_hand: bool
) -> None:
    caplog.set_level(logging.INFO)
    old, new = ShareTool(), ShareTool()
    registry.register_tool(old)
    if by_hand:
        old.set_bridge_client("bridge")
    else:
        registry.services.register("bridge_client", "bridge")
    registry.register_tool(new, replace=True)
    assert registry.execute("share_send", {})["data"] == "bridge"
    assert messages(caplog) == [INJECTED] * (1 if by_hand else 2)
    registry.services.register("bridge_client", "newer")
    assert [old._bridge_client, new._bridge_client] == ["bridge", "newer"]


def test_W021_a_setter_of_several_parameters_is_given_a_mapping_by_name(registry: ToolRegistry) -> None:
    class CronTool(ShareTool):
        def set_agent_dependencies(self, model_client: Any, tool_registry: Any) -> None:
            self.given = (model_client, tool_registry)

    class PlainTool(ShareTool):
        def set_agent_dependencies(self, dependencies: Mapping[str, Any]) -> None:
            self.given = dependencies

    cron, plain = CronTool(), PlainTool()
    registry.register_tool(cron)
    registry.register_tool(plain)
    registry.services.register("agent_dependencies", {"model_client": 1, "tool_registry": 2})
    assert cron.given == (1, 2)
    assert plain.given == {"model_client": 1, "tool_registry": 2}


def test_W021_a_slot_may_name_the_type_it_takes(registry: ToolRegistry, caplog: pytest.LogCaptureFixture) -> None:
    class Typed(ShareTool):
        requires = {"bridge_client": dict}  # noqa: RUF012

    tool = Typed()
    with pytest.raises(DefinitionError, match="'bridge_client' is a str, and the tool typed needs a dict"):
        tool.receive_service("bridge_client", "a text")
    registry.register_tool(tool)
    registry.services.register("bridge_client", "a text")
    assert "The tool typed did not take the service bridge_client" in caplog.text
    registry.services.register("bridge_client", {"is": "one"})
    assert registry.execute("typed_send", {})["data"] == {"is": "one"}


def test_a_setter_that_fails_harms_no_other_tool(registry: ToolRegistry, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(ShareTool):
        def set_bridge_client(self, bridge_client: Any) -> None:
            raise RuntimeError("no")

    registry.register_tool(Failing())
    registry.register_tool(ShareTool())
    registry.services.register("bridge_client", "bridge")
    assert registry.execute("share_send", {})["data"] == "bridge"
    assert "The tool failing did not take the service bridge_client" in caplog.text


def test_what_is_unregistered_receives_nothing_any_more(registry: ToolRegistry) -> None:
    tool = ShareTool()
    registry.register_tool(tool)
    registry.unregister("share_send")
    registry.services.register("bridge_client", "bridge")
    assert tool._bridge_client is None


def test_a_lazy_tool_receives_what_is_there_when_it_is_made_and_what_comes_later(registry: ToolRegistry) -> None:
    class Lazy(ShareTool):
        @classmethod
        def get_actions(cls) -> list[ActionDef]:
            return [ActionDef("send", "Sends.")]

    registry.register_tool(LazyTool(Lazy, Lazy))
    registry.services.register("bridge_client", "first")
    assert registry.execute("lazy_send", {})["data"] == "first"
    registry.services.register("bridge_client", "second")
    assert registry.execute("lazy_send", {})["data"] == "second"


def test_E037_two_threads_call_while_the_service_arrives(registry: ToolRegistry) -> None:
    registry.register_tool(ShareTool())
    registry.register_tool(AskTool())
    begin = threading.Barrier(3)
    arrived = threading.Event()

    def call(name: str) -> list[dict[str, Any]]:
        begin.wait()
        outcomes = []
        while not arrived.is_set():
            outcomes.append(registry.execute(name, {}))
        return [*outcomes, registry.execute(name, {})]

    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(call, name) for name in ("share_send", "ask_ask")]
        begin.wait()
        registry.services.register("bridge_client", "bridge")
        registry.services.register("llm_client", "client")
        arrived.set()
        for future, ready in zip(calls, ("bridge", "client"), strict=True):
            *during, after = future.result()
            assert after["data"] == ready
            assert {outcome["error"] for outcome in during} <= {
                None,
                "not ready",
                "The tool ask is waiting for the service 'llm_client'",
            }


def test_E037_registering_tool_and_service_at_once_never_misses() -> None:
    begin = threading.Barrier(2)

    def register(registry: ToolRegistry, tool: BaseTool) -> None:
        begin.wait()
        registry.register_tool(tool)

    def arrive(services: Services) -> None:
        begin.wait()
        services.register("bridge_client", "bridge")

    with ThreadPoolExecutor(2) as pool:
        for _ in range(50):
            registry = ToolRegistry()
            for job in (pool.submit(register, registry, ShareTool()), pool.submit(arrive, registry.services)):
                job.result()
            assert registry.execute("share_send", {})["data"] == "bridge"


def test_N050_what_belongs_to_a_session_or_a_call_is_seen_only_inside() -> None:
    services = Services()
    services.register("user", "nobody")
    with services.scope("session") as session:
        session.register("user", "ada")
        with services.scope("call") as call:
            call.register("trace", 1)
            assert [services.get("user"), services.get("trace")] == ["ada", 1]
        assert [services.get("user"), services.get("trace")] == ["ada", None]
    assert services.get("user") == "nobody"


async def test_N050_scopes_of_tasks_do_not_mix() -> None:
    services = Services()

    async def session(user: str) -> Any:
        async with services.scope("session") as scope:
            scope.register("user", user)
            await asyncio.sleep(0)
            return services.get("user")

    assert list(await asyncio.gather(session("ada"), session("bob"))) == ["ada", "bob"]


def test_N050_a_service_is_made_once_in_its_scope_and_closed_with_it() -> None:
    services = Services()
    events: list[str] = []

    def make() -> object:
        events.append("made")
        return object()

    services.provide("connection", make, scope="call", close=lambda connection: events.append("closed"))
    assert services.get("connection") is None
    with services.scope("call"):
        assert services.get("connection") is services.get("connection")
        assert events == ["made"]
    assert events == ["made", "closed"]
    with pytest.raises(DependencyMissingError) as caught:
        services.require("connection", needed_by="x")
    assert caught.value.hint == "It lives as long as one call and is there only inside of one."


async def test_N050_what_closes_asynchronously_is_awaited() -> None:
    services, closed = Services(), asyncio.Event()

    async def close(service: Any) -> None:
        closed.set()

    services.provide("client", object, scope="session", close=close)
    async with services.scope("session"):
        assert services.get("client") is not None
    assert closed.is_set()
    with pytest.raises(DefinitionError, match="closes asynchronously"), services.scope("session"):
        services.get("client")


def test_N050_a_service_of_the_app_is_made_for_the_tool_that_takes_it(registry: ToolRegistry) -> None:
    registry.services.provide("bridge_client", lambda: "made")
    registry.register_tool(ShareTool())
    assert registry.execute("share_send", {})["data"] == "made"


@pytest.mark.parametrize("name", ["", None])
def test_a_service_needs_a_name(name: Any) -> None:
    with pytest.raises(DefinitionError, match="needs a name"):
        Services().register(name, 1)


def test_N050_a_function_names_the_services_that_fill_its_parameters() -> None:
    ask = ToolDefinition("ask", "", {}, injected={"client": "service:llm_client", "project_id": "project_id"})
    services = Services()
    assert injected_services(ask) == {"client": "llm_client"}
    assert waiting_reason(ask, services) == "waiting for llm_client"
    services.register("llm_client", 1)
    assert waiting_for(ask, services) == ()
