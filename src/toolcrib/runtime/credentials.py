"""Secrets of tools: references in definitions, values only at the moment of use."""

from __future__ import annotations

import os

from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DependencyMissingError

ENVIRONMENT = "env:"


def missing(tool: ToolDefinition) -> list[str]:
    """The environment variables that a tool's authentication names and that are not set, each once."""
    authentication = tool.deployment.authentication if tool.deployment is not None else None
    if authentication is None:
        return []
    names = (reference.removeprefix(ENVIRONMENT) for reference in authentication.secrets.values())
    return [name for name in dict.fromkeys(names) if not os.environ.get(name)]


def secret(tool: ToolDefinition, reference: str) -> str:
    """The value behind a reference such as ``"env:MY_TOKEN"``.

    Raises:
        DependencyMissingError: it is not set, or the reference is of an unknown kind; the text names it.
    """
    if not reference.startswith(ENVIRONMENT):
        raise DependencyMissingError(
            f"Tool {tool.name!r} has a secret that is not a reference",
            hint='Write it as "env:NAME" and set the environment variable NAME.',
        )
    name = reference.removeprefix(ENVIRONMENT)
    value = os.environ.get(name)
    if not value:
        raise missing_error(tool, [name])
    if not value.isprintable() or not value.isascii():
        raise DependencyMissingError(
            f"The environment variable {name}, which tool {tool.name!r} needs, cannot be sent as a header",
            hint="It contains a line break or another character that no credential has.",
        )
    return value


def missing_error(tool: ToolDefinition, names: list[str]) -> DependencyMissingError:
    """The error that names the variables a tool still needs."""
    listed = ", ".join(names)
    return DependencyMissingError(
        f"Tool {tool.name!r} is not running or has no active endpoint: missing credentials {listed}",
        hint=f"Set {listed} in the environment of the service and start it again.",
    )
