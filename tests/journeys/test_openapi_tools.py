"""Tools of an OpenAPI document send what it describes."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.fake_api import FakeApi, Reply, Seen, fake_api
from tests.journeys.openapi_caller import AUTH, DATA, PNG, SECRET, Caller, calling
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.openapi.source import OpenApiDocument
from toolcrib.runtime.http_api_credentials import missing_variables
from toolcrib.storage.artifacts import FileArtifactStore


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    monkeypatch.setenv("SHOP_USER", "ada")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)


@pytest.fixture
async def call(api: FakeApi, tmp_path: Path) -> AsyncIterator[Caller]:
    tools: list[ToolDefinition] = []
    for name, auth in (("petstore", AUTH), ("weather", None)):
        listing = OpenApiDocument(DATA / f"{name}.json", base_url=api.url, auth=auth).load()
        assert listing.problems == ()
        tools += listing.tools
    caller = Caller(tools, FileArtifactStore(tmp_path / "artifacts"))
    yield caller
    await caller.runner.close()


# --- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ({}, "/api/v3/pets"),
        ({"status": ["available", "sold"]}, "/api/v3/pets?status=available&status=sold"),
        ({"status": []}, "/api/v3/pets"),
        ({"tags": ["a,b", "c d", "é&"]}, "/api/v3/pets?tags=a%2Cb,c%20d,%C3%A9%26"),
        ({"ids": [1, 2, 3]}, "/api/v3/pets?ids=1%7C2%7C3"),
        ({"colours": ["light blue", "red"]}, "/api/v3/pets?colours=light%20blue%20red"),
        (
            {"filter": {"born": {"after": "2024-01-01"}, "vaccinated": True}},
            "/api/v3/pets?filter%5Bborn%5D%5Bafter%5D=2024-01-01&filter%5Bvaccinated%5D=true",
        ),
        ({"where": {"cage": 7}}, "/api/v3/pets?where=%7B%22cage%22%3A7%7D"),
        ({"callback": "https://x.example/a?b=c&d#e%2F"}, "/api/v3/pets?callback=https://x.example/a?b%3Dc%26d%23e%2F"),
        ({"price": 1.5, "limit": 5}, "/api/v3/pets?price=1.5&limit=5"),
        ({"page_size": 10}, "/api/v3/pets?page%5Bsize%5D=10"),
    ],
)
async def test_query_parameters_are_written_in_their_style(
    call: Caller, api: FakeApi, arguments: dict[str, Any], target: str
) -> None:
    api.answers([])
    result = await call("listPets", **arguments)
    assert result == ToolResult.ok([])
    assert (api.only().method, api.only().target) == ("GET", target)


async def test_path_header_and_cookie_parameters(call: Caller, api: FakeApi) -> None:
    api.answers({"id": 1, "name": "Rex"})
    result = await call("getPet", petId=7, session="a;b c=1/2", **{"X-Request-Id": "r 1"})
    assert result.data == {"id": 1, "name": "Rex"}
    seen = api.only()
    assert (seen.target, seen.header("X-Request-Id")) == ("/api/v3/pets/7", "r 1")
    assert seen.header("Cookie") == "session=a%3Bb%20c=1/2"
    assert (seen.header("X-Api-Key"), seen.header("Authorization")) == (SECRET, None)
    assert seen.header("Accept") == "application/json, */*;q=0.1"


async def test_a_path_value_cannot_leave_its_place(call: Caller, api: FakeApi) -> None:
    api.answers({})
    await call("readings", station="a/b?c#d%2e", day="2024-01-01")
    assert api.only().target == "/stations/a%2Fb%3Fc%23d%252e/readings/2024-01-01"
    for value in ("..", ".", "../../admin", "x/../y", "a\\..\\b", ""):
        result = await call("readings", station=value, day="2024-01-01")
        assert (result.error_code, len(api.seen)) == ("invalid_params", 1), value


async def test_path_styles(call: Caller, api: FakeApi) -> None:
    api.answers({})
    await call("areas", shape=[1, 2])
    assert api.only().target == "/areas;shape=1;shape=2"


async def test_a_header_is_one_line(call: Caller, api: FakeApi) -> None:
    result = await call("getPet", petId=1, **{"X-Request-Id": "a\r\nX-Api-Key: mine"})
    assert (result.error_code, api.seen) == ("invalid_params", [])
    assert result.error is not None
    assert result.error.startswith("X-Request-Id: ")


async def test_a_json_body_is_the_flat_arguments_together(call: Caller, api: FakeApi) -> None:
    api.answers({"id": 3, "name": "Rex"}, status=201)
    result = await call("createPet", name="Réx", status=None, home={"city": "Bern"}, parents=[{"name": "Fido"}])
    assert result.success
    seen = api.only()
    assert (seen.method, seen.target, seen.header("Content-Type")) == ("POST", "/api/v3/pets", "application/json")
    assert seen.body == '{"name":"Réx","status":null,"parents":[{"name":"Fido"}],"home":{"city":"Bern"}}'.encode()
    assert seen.header("Content-Length") == str(len(seen.body))


async def test_fields_of_one_name_go_where_they_belong(call: Caller, api: FakeApi) -> None:
    api.answers(status=204)
    assert await call("replacePet", petId=1, petId_body="one", name="Rex") == ToolResult.ok(None)
    seen = api.only()
    assert (seen.target, json.loads(seen.body)) == ("/api/v3/pets/1", {"petId": "one", "name": "Rex"})
    basic = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    assert seen.header("Authorization") == f"Basic {basic}"


async def test_an_optional_body_is_sent_whole_or_not_at_all(call: Caller, api: FakeApi) -> None:
    api.answers(status=204)
    assert (await call("replacePet", petId=1)).success
    assert (api.only().body, api.only().header("Content-Type")) == (b"", None)
    assert (await call("replacePet", petId=1, name="Rex")).error_code == "invalid_params"
    assert len(api.seen) == 1


async def test_a_body_with_further_fields_and_its_own_media_type(call: Caller, api: FakeApi) -> None:
    api.answers({"temperature": 1}, Content_Type="application/vnd.weather+json")
    result = await call("correct", station="s", day="d", units="metric", temperature=None, humidity=0.5)
    assert result.data == {"temperature": 1}
    seen = api.only()
    assert seen.target == "/stations/s/readings/d?units=metric"
    assert seen.header("Content-Type") == "application/merge-patch+json"
    assert json.loads(seen.body) == {"temperature": None, "humidity": 0.5}


async def test_a_body_of_alternatives_is_one_argument(call: Caller, api: FakeApi) -> None:
    api.answers({"done": True})
    assert (await call("subscribe", body={"kind": "mail", "address": "a@b.example"})).data == {"done": True}
    assert json.loads(api.only().body) == {"kind": "mail", "address": "a@b.example"}
    assert (await call("subscribe", body={"kind": "mail"})).error_code == "invalid_params"


async def test_a_multipart_form_carries_files_and_fields(call: Caller, api: FakeApi) -> None:
    api.answers(body="kept ✓".encode(), Content_Type="text/plain; charset=utf-8")
    artifact = call.store.put(b"%PDF-1.7 paper", name="paper.pdf")
    result = await call(
        "upload_photo",
        petId=4,
        photo=base64.b64encode(PNG).decode(),
        extras=[artifact.reference, "data:text/plain;base64,aGkK"],
        caption='The "best"\r\npicture',
        labels=["a", "b"],
        place={"city": "Bern"},
    )
    assert result.data == "kept ✓"
    seen = api.only()
    assert seen.target == "/api/v3/pets/4/photo"
    assert seen.parts() == [
        ("photo", "photo.png", "image/png", PNG),
        ("extras", "extras.pdf", "application/pdf", b"%PDF-1.7 paper"),
        ("extras", "extras.txt", "text/plain", b"hi\n"),
        ("caption", None, None, b'The "best"\r\npicture'),
        ("labels", None, "text/plain", b"a"),
        ("labels", None, "text/plain", b"b"),
        ("place", None, "application/json", b'{"city":"Bern"}'),
    ]


async def test_a_file_that_is_no_base64_is_refused(call: Caller, api: FakeApi) -> None:
    result = await call("upload_photo", petId=4, photo="a photo of Rex")
    assert (result.error_code, api.seen) == ("invalid_params", [])
    assert result.error == "photo: expected a file in base64"


async def test_a_url_encoded_form(call: Caller, api: FakeApi) -> None:
    api.answers({"order": 1})
    await call("placeOrder", pet=3, codes=["a b", "c&d"], address={"city": "Bern"}, gift={"city": "Rom"})
    seen = api.only()
    assert seen.header("Content-Type") == "application/x-www-form-urlencoded"
    assert seen.body == (b"pet=3&codes=a%20b&codes=c%26d&address%5Bcity%5D=Bern&gift=%7B%22city%22%3A%22Rom%22%7D")
    assert seen.header("Cookie") == f"sid={SECRET}"


async def test_a_text_body_and_a_key_in_the_query(call: Caller, api: FakeApi) -> None:
    api.answers({})
    await call("writeNote", body="Grüße")
    seen = api.only()
    assert (seen.body, seen.header("Content-Type")) == ("Grüße".encode(), "text/plain; charset=utf-8")
    assert seen.target == "/api/v3/notes?key=s3cr3t%2F%2B~value%26more"


async def test_a_body_of_bytes(call: Caller, api: FakeApi) -> None:
    api.answers(status=202, body=b"")
    assert await call("restore", body=base64.b64encode(bytes(range(256))).decode()) == ToolResult.ok(None)
    assert (api.only().body, api.only().header("Content-Type")) == (bytes(range(256)), "application/octet-stream")


async def test_proxies_of_the_environment_and_cookies_of_the_api_are_ignored(call: Caller, api: FakeApi) -> None:
    api.answers([], Set_Cookie="tracking=1; Path=/")
    for _ in range(3):
        assert (await call("listPets")).success
    assert [seen.header("Cookie") for seen in api.seen] == [None] * 3


# --- redirects --------------------------------------------------------------------------------------------------------


async def test_a_redirect_is_followed_on_the_same_host(call: Caller, api: FakeApi) -> None:
    def move(seen: Seen) -> Reply:
        if seen.target.endswith("/7"):
            return Reply(308, b"", {"Location": "/api/v3/pets/8"})
        return Reply(body=b'{"id": 8, "name": "Rex"}')

    api.reply = move
    assert (await call("getPet", petId=7)).data == {"id": 8, "name": "Rex"}
    assert [seen.header("X-Api-Key") for seen in api.seen] == [SECRET, SECRET]


async def test_a_redirect_to_another_host_is_refused(call: Caller, api: FakeApi) -> None:
    with fake_api() as other:
        api.answers(status=302, body=b"", Location=f"{other.url}/steal")
        result = await call("getPet", petId=7)
        assert other.seen == []
    assert result.error == f"The API at 127.0.0.1 redirects to {other.url}, which is not followed"


async def test_a_redirect_that_would_change_the_request_is_refused(call: Caller, api: FakeApi) -> None:
    api.answers(status=302, body=b"", Location="/login")
    result = await call("createPet", name="Rex")
    assert (result.error_code, len(api.seen)) == ("upstream_error", 1)


async def test_redirects_have_an_end(call: Caller, api: FakeApi) -> None:
    api.reply = lambda seen: Reply(307, b"", {"Location": seen.target})
    result = await call("getPet", petId=7)
    assert result.error == "The API at 127.0.0.1 redirected more than 5 times"
    assert len(api.seen) == 6


# --- secrets ----------------------------------------------------------------------------------------------------------


async def test_a_missing_secret_is_named_before_anything_is_sent(
    call: Caller, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_KEY")
    result = await call("getPet", petId=7)
    assert (result.error_code, api.seen) == ("dependency_missing", [])
    assert result.error == (
        "Tool 'getPet' needs the environment variable SHOP_KEY for the security scheme 'api_key', and it is not set"
    )
    assert missing_variables(call.registry.resolve("getPet")) == ["SHOP_KEY"]
    assert missing_variables(call.registry.resolve("deletePet")) == ["auth for 'shop_oauth'"]
    assert missing_variables(call.registry.resolve("listPets")) == []


async def test_a_scheme_that_nobody_gave_a_credential_for_is_named(call: Caller, api: FakeApi) -> None:
    result = await call("deletePet", petId=7)
    assert (result.error_code, api.seen) == ("dependency_missing", [])
    assert result.error == "Tool 'deletePet' needs a credential for the security scheme 'shop_oauth', and none is named"
    assert result.hint is not None
    assert 'auth: {"shop_oauth": "env:SHOP_OAUTH"}' in result.hint


async def test_a_secret_that_cannot_be_sent_is_not_shown(
    call: Caller, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", f"{SECRET}\n")
    result = await call("getPet", petId=7)
    assert (result.error_code, api.seen) == ("dependency_missing", [])
    assert SECRET not in repr(result) + str(result.hint)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("getPet", {"petId": 1}),
        ("replacePet", {"petId": 1}),
        ("writeNote", {"body": "x"}),
        ("placeOrder", {"pet": 1}),
    ],
)
@pytest.mark.parametrize("status", [200, 400])
async def test_secrets_appear_in_no_result_error_or_log(
    call: Caller, api: FakeApi, caplog: pytest.LogCaptureFixture, tool: str, arguments: dict[str, Any], status: int
) -> None:
    def echo(seen: Seen) -> Reply:
        told = {"target": seen.target, "headers": seen.headers, "bare": SECRET}
        return Reply(status, json.dumps(told).encode())

    api.reply = echo
    with caplog.at_level(logging.DEBUG):
        result = await call(tool, **arguments)
    basic = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    shown = f"{result!r} {result.hint} {result.data} {caplog.text}"
    for form in (SECRET, "s3cr3t", basic):
        assert form not in shown


@pytest.mark.parametrize("host", ["", "http://other.example"])
async def test_a_redirect_that_repeats_the_key_does_not_spread_it(
    call: Caller, api: FakeApi, caplog: pytest.LogCaptureFixture, host: str
) -> None:
    def add_slash(seen: Seen) -> Reply:
        path, _, query = seen.target.partition("?")
        return Reply() if path.endswith("/") else Reply(307, b"", {"Location": f"{host}{path}/?{query}&a=1"})

    api.reply = add_slash
    with caplog.at_level(logging.INFO):
        result = await call("writeNote", body="x")
    assert result.success is not bool(host)
    if not host:
        assert api.seen[1].target == "/api/v3/notes/?a=1&key=s3cr3t%2F%2B~value%26more"
        assert api.seen[1].body == b"x"
    assert "s3cr3t" not in f"{result!r} {result.hint} {caplog.text}"


async def test_a_bearer_token_from_a_file(api: FakeApi, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("from-a-file\n")
    api.answers(status=204)
    source = OpenApiDocument(DATA / "petstore.json", base_url=api.url, auth={"shop_oauth": f"file:{token}"})
    async with calling(source, tmp_path) as call:
        assert (await call("deletePet", petId=1)).success
    assert api.only().header("Authorization") == "Bearer from-a-file"


# --- documents on the network -----------------------------------------------------------------------------------------


def test_a_document_from_a_url_finds_its_relative_server(api: FakeApi) -> None:
    content = (DATA / "petstore.json").read_bytes()
    api.answers(body=content)
    source = OpenApiDocument(f"{api.url}/docs/openapi.json")
    tools = source.load().tools
    assert tools[0].deployment is not None
    assert tools[0].deployment.url == f"{api.url}/api/v3"
    assert list(source.paths()) == []
    api.answers(status=500)
    listing = source.load()
    assert listing.tools == tools
    assert [str(problem) for problem in listing.problems] == [f"{api.url}/docs/openapi.json: the server answered 500"]
