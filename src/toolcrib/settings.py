"""Settings of a crib and its service, read when asked, never at import."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from toolcrib.errors import SettingsError

MEBIBYTE = 1024 * 1024
PREFIX = "TOOLCRIB_"
FILE = "toolcrib.toml"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")

OPTIONS: Mapping[str, str] = {
    "host": "--host",
    "port": "--port",
    "project": "--project",
    "modules": "--module",
    "openapi": "--openapi",
}
"""Settings that `toolcrib serve` takes as an option too."""

NOT_SETTINGS = frozenset(
    {"TOOLCRIB_TEST_SLACK", "TOOLCRIB_PYTHON", "TOOLCRIB_BENCHMARK_PYTHONS", "TOOLCRIB_TOOL_ID"}
    | {"TOOLCRIB_INSTANCE_TOKEN"}
)
"""Variables that mean something to the scripts, the tests and the tools' processes."""


def _listed(value: Any) -> Any:
    """A list as a variable holds it: JSON, or names with commas between them; one name is a list of one."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith("["):
        return tuple(part for each in text.split(",") if (part := each.strip()))
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"it begins as a JSON list and is none: {error}") from None


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


def default_home() -> Path:
    """The platform's data directory for toolcrib."""
    import platformdirs

    return Path(platformdirs.user_data_dir("toolcrib", appauthor=False))


class Settings(BaseSettings):
    """Everything that can be set, each by an environment variable ``TOOLCRIB_<NAME>`` or in a ``toolcrib.toml``.

    Example:
        >>> Settings(port=9001).port
        9001
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    home: Path = Field(default_factory=default_home, description="Where state, logs and artifacts are kept.")
    project: Path = Field(
        default_factory=Path.cwd,
        description="The folder whose registry.json, tools.json and tools/ are added to the shipped ones.",
    )
    modules: Names = Field(default=(), description="Python modules whose @tool functions are served in process.")
    entry_points: bool = Field(
        default=True, description="Whether tools of installed packages (entry points toolcrib.tools) are served."
    )
    tools_json_modules: Names = Field(
        default=("toolcrib.builtin",), description="Modules and packages that a tools.json may have imported."
    )
    openapi: Names = Field(
        default=(), description="OpenAPI documents, files or URLs, whose operations are served as tools."
    )
    load_timeout: float = Field(default=30.0, gt=0, description="Seconds that importing one file of tools may take.")
    host: str = Field(default="127.0.0.1", description="The address the router binds.")
    port: int = Field(default=8001, ge=1, le=65535, description="The router's port.")
    first_tool_port: int = Field(default=8002, ge=1, le=65535, description="Where the search for tools' ports begins.")
    last_tool_port: int = Field(default=8999, ge=1, le=65535, description="Where it ends.")
    timeout: float = Field(default=600.0, gt=0, description="Seconds a call may take where the tool says nothing.")
    stop_grace: float = Field(default=5.0, ge=0, description="Seconds between TERM and KILL when a tool is stopped.")
    auto_start: bool = Field(default=True, description="Whether a call starts a stopped tool.")
    request_limit: int = Field(default=64 * MEBIBYTE, gt=0, description="Bytes of a request body; 413 above.")
    response_limit: int = Field(default=64 * MEBIBYTE, gt=0, description="Bytes of a tool's answer; an error above.")
    heartbeat: float = Field(
        default=2.0, gt=0, description="Seconds between white-space bytes while a slow call works."
    )
    output_validation: Literal["off", "warn", "error"] = Field(
        default="warn", description="What happens when a tool's answer does not fit its output schema."
    )
    watch: bool = Field(default=True, description="Whether changed files are noticed while the service runs.")

    @field_validator("home", "project", mode="before")
    @classmethod
    def _a_path(cls, value: Any) -> Any:
        if isinstance(value, str) and not value.strip():
            raise ValueError("it is empty")
        try:
            return Path(value).expanduser() if isinstance(value, str | os.PathLike) else value
        except RuntimeError as error:
            raise ValueError(str(error)) from None

    @field_validator("project")
    @classmethod
    def _a_folder(cls, project: Path) -> Path:
        if not project.is_dir():
            raise ValueError(f"{project} is no folder")
        return project

    @field_validator("modules")
    @classmethod
    def _no_files(cls, modules: tuple[str, ...]) -> tuple[str, ...]:
        for name in modules:
            if name.endswith(".py") or "/" in name:
                module = name.removesuffix(".py").strip("./").replace("/", ".")
                raise ValueError(f"{name!r} is a file, and modules are named without .py: write {module}")
        return modules

    @field_validator("last_tool_port")
    @classmethod
    def _not_before_the_first(cls, last: int, info: ValidationInfo) -> int:
        first = info.data.get("first_tool_port", last)
        if last < first:
            raise ValueError(f"{last} is below TOOLCRIB_FIRST_TOOL_PORT, which is {first}")
        return last

    @property
    def run_directory(self) -> Path:
        """What is true only while the service runs: the lock, the router's record, a folder of process records."""
        return self.home / "run"


def load_settings(**overrides: object) -> Settings:
    """The settings: options first, then the environment, then the files ``toolcrib.toml`` (contract M10).

    A file of the project goes before one in ``home``. It holds settings by their names; ``${NAME}`` and
    ``${NAME:-otherwise}`` in a text stand for environment variables.

    Args:
        **overrides: settings by name, such as options of a command; None = not given.

    Raises:
        SettingsError: a value that cannot be used, with the option, variable or file to correct.
    """
    from pydantic_settings import SettingsError as UnreadableError

    given = {key: value for key, value in overrides.items() if value is not None}
    filed = _from_files(given)
    try:
        return Settings(**{**{name: value for name, (value, _) in filed.items()}, **given})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "?"
        message = first["msg"].removeprefix("Value error, ")
        hint = f"Correct it in {filed[name][1]}." if name in filed and name not in given else _hint(name, given)
        raise SettingsError(f"The setting {name} cannot be used: {message}", hint=hint) from None
    except UnreadableError as error:  # what pydantic-settings itself cannot take apart
        raise SettingsError(
            f"The settings cannot be read: {error}", hint=f"Correct the environment variables {PREFIX}…."
        ) from None


def _hint(name: str, given: Mapping[str, object]) -> str:
    option = OPTIONS.get(name) if name in given else None
    if option is None:
        return f"Correct the environment variable {PREFIX}{name.upper()}."
    return f"Correct {option}."


def _from_files(given: Mapping[str, object]) -> dict[str, tuple[Any, Path]]:
    """Settings that only a file makes, each with that file."""
    environment = {variable.upper(): value for variable, value in os.environ.items()}
    places = {
        "project": given.get("project") or environment.get(f"{PREFIX}PROJECT") or Path.cwd(),
        "home": given.get("home") or environment.get(f"{PREFIX}HOME") or default_home(),
    }
    found: dict[str, tuple[Any, Path]] = {}
    for place in ("home", "project"):
        with contextlib.suppress(RuntimeError):  # the setting itself says what is wrong with such a path
            places[place] = Path(str(places[place])).expanduser()
        path = Path(str(places[place])) / FILE
        for name, value in _read_file(path).items():
            if f"{PREFIX}{name.upper()}" not in environment:
                found[name] = (value, path)
    return found


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}", hint="Correct the file, or remove it.") from None
    for name in values:
        if name not in Settings.model_fields or name == "project":
            close = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"Did you mean {close[0]}?" if close and close[0] != name else "docs/settings.md lists them."
            raise SettingsError(f"{path}: there is no setting {name!r} to be made in a file", hint=hint)
    return {name: _substituted(value, path, name) for name, value in values.items()}


def _substituted(value: Any, path: Path, name: str) -> Any:
    if isinstance(value, list):
        return [_substituted(each, path, name) for each in value]
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found and match[2] is not None:
            return match[2]
        if found is None:
            raise SettingsError(
                f"{path}: {name} names the environment variable {match[1]}, which is not set",
                hint=f"Set it, or write ${{{match[1]}:-otherwise}}.",
            )
        return found

    return _VARIABLE.sub(variable, value)


def unknown_variables(environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, str | None]]:
    """Variables that look like settings and are none, each with the one that may be meant.

    Example:
        >>> list(unknown_variables({"TOOLCRIB_PROT": "9001", "TOOLCRIB_PORT": "9001"}))
        [('TOOLCRIB_PROT', 'TOOLCRIB_PORT')]
    """
    known = sorted(name.upper() for name in Settings.model_fields)
    for variable in sorted(os.environ if environment is None else environment):
        name = variable.upper().removeprefix(PREFIX)
        if variable.upper().startswith(PREFIX) and name not in known and variable.upper() not in NOT_SETTINGS:
            close = difflib.get_close_matches(name, known, n=1)
            yield variable, f"{PREFIX}{close[0]}" if close else None
