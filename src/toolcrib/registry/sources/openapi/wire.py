"""What the options of a deployment say of an operation: how its arguments become an HTTP request.

It is plain JSON, so that it can be compared, kept and sent; ``Deployment.options["openapi"]`` holds an `HttpOperation`.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Place = Literal["path", "query", "header", "cookie"]
CredentialKind = Literal["header", "query", "cookie", "bearer", "basic"]
BodyKind = Literal["json", "form", "multipart", "text", "binary"]


class HttpParameter(TypedDict):
    """One argument that goes into the URL or the headers.

    ``argument`` is its name for the model and ``name`` the one on the wire; ``media_type`` is set where the value is
    serialized as that type (JSON) instead of by ``style``.
    """

    argument: str
    name: str
    place: Place
    style: str
    explode: bool
    allow_reserved: bool
    media_type: str | None


class HttpField(TypedDict):
    """One argument that is a field of the body; ``style`` is None where the body's own form decides."""

    argument: str
    name: str
    is_file: bool
    content_type: str | None
    style: str | None
    explode: bool
    allow_reserved: bool


class HttpBody(TypedDict):
    """The body: one argument as a whole, or an object whose fields are arguments.

    ``open`` says that arguments which are no fields or parameters belong to it as well.
    """

    kind: BodyKind
    media_type: str
    required: bool
    whole: str | None
    fields: list[HttpField]
    open: bool


class HttpCredential(TypedDict):
    """What one security scheme sends; ``secrets`` are references by role (``token``, ``username``, ``password``)."""

    scheme: str
    kind: CredentialKind
    name: str
    secrets: dict[str, str]


class HttpOperation(TypedDict):
    """One operation; its server is the ``url`` of the deployment."""

    method: str
    path: str
    accept: str
    parameters: list[HttpParameter]
    body: HttpBody | None
    credentials: list[HttpCredential]
