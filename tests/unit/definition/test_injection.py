"""Parameters that the service fills (contract N017-N019)."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from toolcrib.definition.base_tool import ActionDef, BaseTool, definitions_of
from toolcrib.definition.context import Context
from toolcrib.definition.decorator import define
from toolcrib.definition.injection import Injected, injections
from toolcrib.definition.invoke import invoke
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import validate
from toolcrib.errors import DefinitionError
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.services import waiting_for

CONTEXT = Context(project_id="p1", user_id="ann", model="m")


def by_annotation(path: str, project_id: Injected) -> str:
    return f"{project_id}/{path}"


def by_metadata(path: str, project: Annotated[str, Injected("project_id")]) -> str:
    return f"{project}/{path}"


def by_default(path: str, project: str = Injected("project_id")) -> str:  # type: ignore[assignment]
    return f"{project}/{path}"


def by_context(path: str, context: Context) -> str:
    return f"{context.project_id}/{path}"


def by_optional_context(path: str, context: Context | None = None) -> str:
    return f"{context.project_id if context else None}/{path}"


@pytest.mark.parametrize("function", [by_annotation, by_metadata, by_default, by_context, by_optional_context])
def test_N017_an_injected_parameter_is_not_shown_and_cannot_be_set(function: Any) -> None:
    tool = define(function, effects="write")
    (injected,) = tool.injected
    notes: list[str] = []

    assert list(tool.parameters["properties"]) == ["path"]
    assert tool.parameters["required"] == ["path"]
    assert invoke(tool, {"path": "a", injected: "forged"}, CONTEXT).data == "p1/a"
    assert validate(tool, {"path": "a", injected: "forged"}, notes) == {"path": "a"}
    assert notes == [f"ignored:{injected}"]


def test_N017_a_users_own_class_called_Context_is_an_ordinary_parameter() -> None:
    from pydantic import BaseModel

    class Context(BaseModel):
        account: str

    def f(context: Context) -> str:
        return context.account

    assert invoke(define(f), {"context": {"account": "a"}}).data == "a"


def test_N017_file_tools_of_the_documents_form_get_the_project() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = ToolDefinition("file_read", "", schema, lambda arguments: arguments.get("project_id"))

    assert invoke(tool, {"path": "a"}, CONTEXT).data == "p1"
    assert invoke(tool, {"path": "a", "project_id": "forged"}, CONTEXT).data == "p1"
    assert invoke(tool, {"path": "a", "project_id": "forged"}).data is None
    assert invoke(ToolDefinition("read", "", schema, lambda arguments: arguments), {"path": "a"}, CONTEXT).data == {
        "path": "a"
    }


def test_N018_a_handler_of_one_dict_may_declare_what_it_gets() -> None:
    def multi_agent(arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    schema = {
        "type": "object",
        "properties": {"tasks": {"type": "array"}, "_model": {"type": "string"}},
        "required": ["tasks", "_model"],
    }
    tool = define(multi_agent, parameters=schema, injected={"_model": "model", "_project_id": "project_id"})

    assert invoke(tool, {"tasks": []}, CONTEXT).data == {"tasks": [], "_model": "m", "_project_id": "p1"}
    assert list(tool.parameters["properties"]) == ["tasks"]
    assert tool.parameters["required"] == ["tasks"]


def test_N019_what_the_context_does_not_know_is_the_parameters_default() -> None:
    def f(region: Annotated[str, Injected] = "eu", user_id: Annotated[str, Injected] = "nobody") -> str:
        return f"{region} {user_id}"

    assert invoke(define(f), {}).data == "eu nobody"
    assert invoke(define(f), {}, CONTEXT).data == "eu ann"


def test_N019_and_a_clear_error_where_there_is_none() -> None:
    def f(region: Annotated[str, Injected]) -> str:
        return region

    result = invoke(define(f), {}, CONTEXT)

    assert result.error_code == "dependency_missing"
    assert "'region'" in str(result.error)


def with_service(prompt: str, client: Annotated[Any, Injected(service="llm_client")]) -> str:
    return f"{client}: {prompt}"


def with_optional_service(prompt: str, client: Any = None) -> str:
    return f"{client}: {prompt}"


def registry_with(*tools: ToolDefinition) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    return registry


def test_N050_a_parameter_may_be_filled_with_a_service() -> None:
    registry = registry_with(define(with_service))
    shown = registry.list_all()[0]["function"]["parameters"]

    before = registry.execute("with_service", {"prompt": "hi", "client": "evil"})
    registry.services.register("llm_client", "model")
    after = registry.execute("with_service", {"prompt": "hi", "client": "evil"})

    assert shown["properties"].keys() == {"prompt"}
    assert define(with_service).injected == {"client": "service:llm_client"}
    assert before["error"] == "The tool with_service is waiting for the service 'llm_client'"
    assert after == {"success": True, "data": "model: hi", "error": None}


def test_N050_a_service_without_which_the_function_can_do_is_left_out() -> None:
    tool = define(with_optional_service, injected={"client": "service:llm_client"})

    assert invoke(tool, {"prompt": "hi"}).data == "None: hi"
    assert registry_with(tool).execute(tool.name, {"prompt": "hi"})["data"] == "None: hi"


def test_N050_a_tool_called_without_a_crib_says_where_its_services_would_come_from() -> None:
    result = invoke(define(with_service), {"prompt": "hi"})

    assert result.error_code == "dependency_missing"
    assert result.hint == "Call it through a Crib or a registry, which know the services."


def test_N050_a_handler_of_one_dict_gets_a_service_too() -> None:
    tool = ToolDefinition("ask", "", {"type": "object"}, dict, injected={"client": "service:llm_client"})
    registry = registry_with(tool)
    registry.services.register("llm_client", "model")

    assert registry.execute("ask", {})["data"] == {"client": "model"}


def test_W021_a_function_may_require_a_service_that_it_looks_up_itself() -> None:
    tool = define(by_annotation, name="lookup", requires=("clock",), require_confirmation=True)
    registry = registry_with(tool)

    assert (tool.requires, tool.require_confirmation) == (("clock",), True)
    assert waiting_for(tool, registry.services) == ("clock",)
    assert registry.execute("lookup", {"path": "a"})["error"] == "The tool lookup is waiting for the service 'clock'"
    registry.services.register("clock", "tick")
    assert registry.execute("lookup", {"path": "a"})["success"]
    assert waiting_for(tool, registry.services) == ()


def test_W021_requires_is_no_text() -> None:
    with pytest.raises(DefinitionError, match="requires is a text"):
        define(by_annotation, requires="clock")  # type: ignore[arg-type]


def test_an_injected_parameter_is_one_thing_or_the_other() -> None:
    with pytest.raises(DefinitionError, match="not both"):
        Injected("user_id", service="llm_client")
    marks = (Injected(), Injected("user_id"), Injected(service="clock"))
    assert list(map(repr, marks)) == ["Injected()", "Injected('user_id')", "Injected(service='clock')"]


class FileTool(BaseTool):
    require_confirmation = True

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("read", "Reads.", {"project_id": {"type": "string"}})]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult.ok(params)


def test_an_action_whose_name_begins_with_file_sets_its_own_project_id() -> None:
    (tool,) = definitions_of(FileTool())

    assert tool.name == "file_read"
    assert tool.require_confirmation
    assert injections(tool) == {}
    assert invoke(tool, {"project_id": "mine"}, CONTEXT).data == {"project_id": "mine"}
