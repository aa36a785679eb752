"""Parameters that the service fills (contract N017-N019)."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from toolcrib.definition.context import Context
from toolcrib.definition.decorator import define
from toolcrib.definition.injection import Injected
from toolcrib.definition.invoke import invoke
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import validate

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
