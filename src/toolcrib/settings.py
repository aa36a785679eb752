"""Settings of a crib and its service, read when asked, never at import."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from toolcrib.errors import SettingsError

MEBIBYTE = 1024 * 1024


def default_home() -> Path:
    """The platform's data directory for toolcrib."""
    import platformdirs

    return Path(platformdirs.user_data_dir("toolcrib", appauthor=False))


class Settings(BaseSettings):
    """Everything that can be set, each by an environment variable ``TOOLCRIB_<NAME>``.

    Example:
        >>> Settings(port=9001).port
        9001
    """

    model_config = SettingsConfigDict(env_prefix="TOOLCRIB_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=default_home, description="Where state, logs and artifacts are kept.")
    project: Path = Field(
        default_factory=Path.cwd,
        description="The folder whose registry.json, tools.json and tools/ are added to the shipped ones.",
    )
    modules: tuple[str, ...] = Field(
        default=(), description="Python modules whose @tool functions are served in process."
    )
    entry_points: bool = Field(
        default=True, description="Whether tools of installed packages (entry points toolcrib.tools) are served."
    )
    tools_json_modules: tuple[str, ...] = Field(
        default=("toolcrib.builtin",), description="Modules and packages that a tools.json may have imported."
    )
    openapi: tuple[str, ...] = Field(
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
    """Settings from the environment, with ``overrides`` (None = not given) on top.

    Raises:
        SettingsError: a value that cannot be used, with the variable to correct.
    """
    try:
        return Settings(**{key: value for key, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "?"
        raise SettingsError(
            f"The setting {name} cannot be used: {first['msg']}",
            hint=f"Correct the environment variable TOOLCRIB_{name.upper()} or the option --{name.replace('_', '-')}.",
        ) from error
