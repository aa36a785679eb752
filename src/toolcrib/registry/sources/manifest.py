"""What may stand in ``registry.json`` and ``tool.toml``, and the published JSON Schemas (contract T005, T006, T015)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from toolcrib.definition.deployment import Launch
from toolcrib.definition.tool import Effects, Risk
from toolcrib.errors import InvalidNameError
from toolcrib.registry.names import check_name

AuthenticationType = Literal["bearer", "header", "query", "hmac"]

ROLES: dict[AuthenticationType, tuple[str, ...]] = {
    "bearer": ("token",),
    "header": ("token",),
    "query": ("token",),
    "hmac": ("access_key", "secret_key"),
}
"""The secrets that each kind of authentication needs, by role."""


def _name(value: str) -> str:
    try:
        return check_name(value)
    except InvalidNameError as error:
        raise PydanticCustomError("name", "{reason}", {"reason": str(error), "hint": error.hint}) from None


_REFERENCE = r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$"


def _reference(value: str) -> str:
    if re.match(_REFERENCE, value):
        return value
    raise PydanticCustomError(
        "reference",
        "a secret is named, never written down",
        {"hint": 'Write "env:NAME" for an environment variable or "file:PATH" for a file that holds it.'},
    )


def _variable(value: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        return value
    raise PydanticCustomError(
        "variable",
        "this is no name of an environment variable",
        {"hint": "Give names only, such as HTTP_PROXY, no values."},
    )


def _endpoint(value: str) -> str:
    if re.fullmatch(r"/?[^\s?#:]+", value) and ".." not in value.split("/"):
        return value.removeprefix("/")
    raise PydanticCustomError(
        "endpoint", "this is no path", {"hint": 'Write the path alone, such as "run" or "v1/run".'}
    )


def _url(value: str) -> str:
    if not re.match(r"https?://[^\s/@]+(/\S*)?$", value):
        raise PydanticCustomError(
            "url",
            "this is no usable URL",
            {"hint": "It begins with http:// or https:// and holds no user name or password; secrets go into auth."},
        )
    return value.rstrip("/")


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ToolId = Annotated[str, AfterValidator(_name), Field(min_length=1, max_length=128)]
Reference = Annotated[str, AfterValidator(_reference), Field(json_schema_extra={"pattern": _REFERENCE})]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Schema = dict[str, Any]


def _kind_of_schema(value: Any) -> str | None:
    if isinstance(value, str):
        return "path"
    return "schema" if isinstance(value, dict) else None


SchemaOrPath = Annotated[
    Annotated[Text, Tag("path")] | Annotated[Schema, Tag("schema")],
    Discriminator(
        _kind_of_schema,
        custom_error_type="schema",
        custom_error_message="Input should be a JSON Schema, or the path of a JSON file in the folder",
    ),
]


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class Strict(BaseModel):
    """No unknown keys, no conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Localized(Strict):
    """The same words in several languages; the first that is given, Chinese before English, is the document's own."""

    zh: Text = Field("", description="In Chinese.", validate_default=False)
    en: Text = Field("", description="In English.", validate_default=False)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not (self.zh or self.en):
            raise PydanticCustomError("words", "a text in zh or en is missing")
        return self


def _kind_of_words(value: Any) -> str | None:
    if isinstance(value, str):
        return "text"
    return "languages" if isinstance(value, dict | Localized) else None


Words = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Localized, Tag("languages")],
    Discriminator(
        _kind_of_words,
        custom_error_type="words",
        custom_error_message="Input should be a text, or a table with texts in zh and en",
    ),
]


def words(value: str | Localized) -> tuple[str, dict[str, str]]:
    """The document's own text, and the texts by language."""
    if isinstance(value, str):
        return value, {}
    texts = {language: text for language, text in (("zh", value.zh), ("en", value.en)) if text}
    return next(iter(texts.values())), texts


class AuthTable(BaseModel):
    """How requests to a tool are signed; secrets are references by role (contract T023)."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Reference]

    type: AuthenticationType = Field(
        description="bearer, header and query need a reference named token; hmac needs access_key and secret_key."
    )
    name: str = Field("", description="The header or query parameter that carries the token; for header and query.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = [role for role in ROLES[self.type] if role not in self.secrets]
        if self.type in ("header", "query") and not self.name:
            missing.append("name")
        if missing:
            raise PydanticCustomError(
                "auth",
                "{type} needs {missing}",
                {
                    "type": f'type "{self.type}"',
                    "missing": " and ".join(f'"{role}"' for role in missing),
                    "hint": f'For example {missing[0]} = "{"X-Api-Key" if missing[0] == "name" else "env:MY_SECRET"}".',
                },
            )
        return self

    @property
    def secrets(self) -> dict[str, str]:
        """References by role."""
        return dict(self.__pydantic_extra__ or {})


class ToolFacts(Strict):
    """What ``tool.toml`` and an entry of ``registry.json`` have in common."""

    name: Words = Field("", description="A name for people: a text, or texts in zh and en.")
    description: Words = Field("", description="What the tool does, for the model: a text, or texts in zh and en.")
    category: Text = Field("general", description="A short word for grouping.")
    endpoint: Annotated[str, AfterValidator(_endpoint)] = Field("run", description="The path that runs the tool.")
    method: Literal["POST", "GET"] = Field(
        "POST", description="POST sends the parameters as JSON, GET as a query string."
    )
    launch: Launch = Field(
        "python", description="python starts the prepared environment's interpreter; uv-run runs `uv run`."
    )
    artifacts: Literal["base64", "path"] = Field("base64", description="How an artifact reference reaches the tool.")
    effects: Effects = Field(
        "none",
        description="What it does to the world; leave it out where that is unknown.",
        json_schema_extra=_no_default,
    )
    idempotent: bool = Field(False, description="Whether running it twice is as good as once.")
    risk: Risk = Field("low", description="How much harm a wrong call can do.")
    timeout: Seconds = Field(600.0, description="Seconds one call may take.")
    idle: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        600.0, description="Seconds without a call after which it is stopped; 0 = never."
    )
    start_timeout: Seconds = Field(60.0, description="Seconds from its start to its first healthy answer.")
    emoji: str = Field("", description="Shown on cards and lists.")
    version: str = Field("", description="As its author counts.")
    examples: list[Text] = Field([], description="Sentences that a user would say, in any language.")
    environment: list[Annotated[str, AfterValidator(_variable)]] = Field(
        [], description="Names of environment variables that are passed on to it."
    )
    auth: AuthTable | None = Field(None, description="How requests to it are signed.")
    intents: dict[str, Literal["recommended", "alternative"]] = Field(
        {}, description="Intent to its place among its tools."
    )


class ToolManifest(ToolFacts):
    """``tool.toml``: a local tool, in a folder with its ``main.py``."""

    id: ToolId = Field(description="The tool's name, equal to its folder's.")
    name: Words = Field(description="A name for people: a text, or texts in zh and en.")
    description: Words = Field(description="What the tool does, for the model: a text, or texts in zh and en.")
    groups: list[str] = Field([], description="The groups it belongs to.")
    input_schema: SchemaOrPath = Field(
        description="JSON Schema of the parameters, as tables, or the path of a JSON file in the folder; a title or "
        "description in it may be a text, or texts in zh and en."
    )
    output_schema: SchemaOrPath = Field(
        {}, description="JSON Schema of the result, as tables or as the path of a JSON file, with words as above."
    )


class ToolEntry(ToolFacts):
    """One tool in ``registry.json``; for a tool that has a ``tool.toml`` only the fields that it overrides."""

    tool_id: ToolId = Field(description="The tool's name, unique.")
    backend_runtime: Literal["local", "docker", "remote"] = Field("local", description="The kind of place it lives in.")
    group_ids: list[str] = Field([], description="The groups it belongs to; derived from the groups where left out.")
    input_schema: Schema = Field(
        {}, description="JSON Schema of the parameters; a title or description may be a text, or texts in zh and en."
    )
    output_schema: Schema = Field({}, description="JSON Schema of the result, with words as in input_schema.")
    url: Annotated[str, AfterValidator(_url)] = Field("", description="A remote tool's base URL.")
    directory: Text = Field(
        "", description="A local tool's folder, relative to this file; default tools/local/{tool_id}."
    )
    options: dict[str, Any] = Field({}, description="What only its runtime knows, such as image or container_id.")
    enabled: bool = Field(True, description="false takes the tool away.")


class GroupEntry(Strict):
    """Tools that belong together and are used in an order."""

    group_id: Text = Field(description="Unique among groups.")
    name: Words = Field(description="A text, or texts in zh and en.")
    description: Words = Field(description="A text, or texts in zh and en.")
    backend_runtime: Literal["local", "docker", "remote"] = Field(description="Where its tools live.")
    tool_ids: list[str] = Field(description="Its tools.", min_length=1)
    usage_order: list[str] = Field([], description="The same tools in the order of use; default as in tool_ids.")

    @model_validator(mode="after")
    def _permutation(self) -> Self:
        twice = sorted({tool_id for tool_id in self.tool_ids if self.tool_ids.count(tool_id) > 1})
        if twice:
            raise PydanticCustomError(
                "twice",
                "{tools} stands twice",
                {"tools": ", ".join(twice), "at": "tool_ids", "hint": "Keep one of them."},
            )
        if self.usage_order and sorted(self.usage_order) != sorted(self.tool_ids):
            raise PydanticCustomError(
                "permutation",
                '"usage_order" must hold the same tools as "tool_ids", each once',
                {"at": "usage_order", "hint": f"tool_ids are: {', '.join(self.tool_ids)}"},
            )
        return self


class BasicLogin(Strict):
    """The two secrets of HTTP basic authentication, by reference."""

    username: Reference = Field(description="A reference such as env:NAME.")
    password: Reference = Field(description="A reference such as env:NAME.")


def _kind_of_login(value: Any) -> str | None:
    if isinstance(value, str):
        return "token"
    return "login" if isinstance(value, dict | BasicLogin) else None


Credentials = Annotated[
    Annotated[Reference, Tag("token")] | Annotated[BasicLogin, Tag("login")],
    Discriminator(
        _kind_of_login,
        custom_error_type="login",
        custom_error_message="Input should be a reference, or a table with references for username and password",
    ),
]


class OpenApiEntry(Strict):
    """An OpenAPI document; each of its operations is a tool."""

    document: Text = Field(description="The document: a file, relative to this one, or a URL.")
    base_url: Annotated[str, AfterValidator(_url)] = Field(
        "", description="Where the API answers, in place of the document's servers."
    )
    auth: dict[str, Credentials] = Field({}, description="References to secrets, by security scheme.")
    include: list[Text] | None = Field(
        None, description="Patterns of the operations to take, such as get* or GET /pets/*; all where left out."
    )
    exclude: list[Text] = Field([], description="Patterns of operations to leave out.")
    prefix: str = Field("", description="Put before every tool's name.")


class RegistryFile(Strict):
    """``registry.json``: groups, tools that are defined or adjusted here, and APIs whose operations are tools."""

    schema_: str = Field("", alias="$schema", description="Where an editor finds this schema.")
    version: Literal[1] = Field(1, description="Of this format.")
    groups: list[GroupEntry] = Field([], description="Tools that belong together.")
    tools: list[ToolEntry] = Field([], description="Tools, and adjustments of tools that have a tool.toml.")
    openapi: list[OpenApiEntry] = Field([], description="OpenAPI documents whose operations are tools.")


def registry_schema() -> dict[str, Any]:
    """The JSON Schema of ``registry.json``."""
    return _published(RegistryFile, "registry.json of toolcrib")


def tool_schema() -> dict[str, Any]:
    """The JSON Schema of ``tool.toml``."""
    return _published(ToolManifest, "tool.toml of toolcrib")


def write_schemas(directory: Path) -> None:
    """Write both schemas, as editors use them, into ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, schema in (("registry", registry_schema()), ("tool", tool_schema())):
        text = json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
        (directory / f"{name}.schema.json").write_text(text, encoding="utf-8")


def _published(model: type[BaseModel], title: str) -> dict[str, Any]:
    schema = _without_empty_defaults(model.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}


def _without_empty_defaults(value: Any) -> Any:
    """An empty default only stands for "not said" and would mislead whoever reads the schema."""
    if isinstance(value, list):
        return [_without_empty_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_empty_defaults(item)
        for key, item in value.items()
        if not (key == "default" and item in ("", None, [], {}))
    }
