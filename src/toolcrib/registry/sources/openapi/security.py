"""Which credentials an operation sends, and by which references its user gave them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolcrib.errors import DefinitionError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.openapi.document import ApiDocument, ApiProblem
from toolcrib.registry.sources.openapi.wire import HttpCredential
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

References = Mapping[str, str | Mapping[str, str]]
"""By security scheme: a reference such as ``env:TOKEN``, or one each for ``username`` and ``password``."""

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.+")


def check_references(references: References) -> None:
    """Make sure that nobody wrote a secret where a reference belongs.

    Raises:
        DefinitionError: naming the scheme, never the value.
    """
    for scheme, given in references.items():
        roles = given if isinstance(given, Mapping) else {"token": given}
        if isinstance(given, Mapping) and roles.keys() not in ({"username", "password"}, {"token"}):
            raise DefinitionError(
                f"auth for the security scheme {scheme!r} has the keys {', '.join(map(repr, sorted(roles)))}",
                hint='Give one reference such as "env:TOKEN", or one each for "username" and "password".',
            )
        if not all(isinstance(value, str) and _REFERENCE.fullmatch(value) for value in roles.values()):
            raise DefinitionError(
                f"auth for the security scheme {scheme!r} is not a reference; a secret is named, never written down",
                hint='Write "env:NAME" for an environment variable or "file:PATH" for a file that holds it.',
            )


class Security:
    """The security schemes of a document, with the references that were given for them.

    Args:
        document: the document.
        references: by scheme, checked.
    """

    def __init__(self, document: ApiDocument, references: References) -> None:
        self._document = document
        self._references = references
        components = document.data.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
        self._schemes: Mapping[str, Any] = schemes if isinstance(schemes, Mapping) else {}

    def unknown(self) -> list[ApiProblem]:
        """What is wrong with references for schemes that the document does not have."""
        problems = []
        for name in self._references.keys() - self._schemes.keys():
            close = nearest(name, self._schemes, limit=1)
            listed = ", ".join(map(repr, self._schemes)) or "none"
            hint = f"Did you mean {close[0]!r}?" if close else f"The document has: {listed}."
            location = ("components", "securitySchemes")
            problems.append(ApiProblem(location, f"auth names the security scheme {name!r}, which is not there", hint))
        return sorted(problems, key=str)

    def credentials(self, requirements: Any, at: Location) -> list[HttpCredential]:
        """The credentials of the alternative to use: the first for which all references were given.

        Where there is none: no credentials if that is allowed, else the first, so that a call can say what is missing.

        Args:
            requirements: the ``security`` that counts; None = none is required.
            at: where it stands.

        Raises:
            ApiProblem: none of the alternatives can be used.
        """
        if requirements is None or requirements == []:
            return []
        if not isinstance(requirements, list):
            raise ApiProblem(at, f'"security" should be a list, got {shown(requirements)}')
        usable: list[list[HttpCredential]] = []
        refused: list[ApiProblem] = []
        for index, alternative in enumerate(requirements):
            place = (*at, index)
            if not isinstance(alternative, Mapping):
                raise ApiProblem(place, f"a security requirement should be an object, got {shown(alternative)}")
            try:
                usable.append([self._credential(name, (*place, name)) for name in alternative])
            except ApiProblem as problem:
                refused.append(problem)
        if not usable:
            raise refused[0]
        complete = [found for found in usable if found and all(one["secrets"] for one in found)]
        return (complete or [found for found in usable if not found] or usable)[0]

    def _credential(self, name: str, at: Location) -> HttpCredential:
        if name not in self._schemes:
            hint = "Define it under components.securitySchemes."
            raise ApiProblem(at, f"the security scheme {name!r} is not defined", hint)
        scheme, place = self._document.object_at(
            self._schemes[name], ("components", "securitySchemes", name), "a security scheme"
        )
        kind, http = scheme.get("type"), str(scheme.get("scheme", "")).lower()
        credential: HttpCredential = {"scheme": name, "kind": "bearer", "name": "Authorization", "secrets": {}}
        if kind == "apiKey":
            where, key = scheme.get("in"), scheme.get("name")
            if where not in ("header", "query", "cookie") or not isinstance(key, str) or not key:
                raise ApiProblem(place, f'the security scheme {name!r} needs "name", and "in": header, query or cookie')
            credential["kind"], credential["name"] = where, key
        elif kind == "http" and http == "basic":
            credential["kind"] = "basic"
        elif not (kind in ("oauth2", "openIdConnect") or (kind == "http" and http == "bearer")):
            said = f"http {http}" if kind == "http" else shown(kind)
            hint = "Supported are apiKey, http bearer and basic, oauth2 and openIdConnect (with a token)."
            raise ApiProblem(place, f"the security scheme {name!r} is of the type {said}, which is not supported", hint)
        credential["secrets"] = self._secrets(name, credential["kind"] == "basic", place)
        return credential

    def _secrets(self, name: str, is_basic: bool, place: Location) -> dict[str, str]:
        given = self._references.get(name)
        if given is None:
            return {}
        secrets = dict(given) if isinstance(given, Mapping) else {"token": given}
        if "username" in secrets and not is_basic:
            hint = f'Give one reference: auth: {{"{name}": "env:NAME"}}.'
            raise ApiProblem(place, f"the security scheme {name!r} takes a token, not a user name and password", hint)
        return secrets
