"""Joins what the files say of a tool to one definition, field by field (contract T006, T015; DESIGN §11.12)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolcrib.definition.deployment import Authentication, Deployment
from toolcrib.definition.tool import Texts, ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.sources.document import parse_document
from toolcrib.registry.sources.folder import IGNORED_DIRECTORIES, PROGRAM
from toolcrib.registry.sources.layers import ToolLayer
from toolcrib.registry.sources.manifest import AuthTable, ToolEntry, ToolManifest, words
from toolcrib.registry.sources.schema_words import LANGUAGES, in_language, languages_of
from toolcrib.registry.sources.schemas import schema_mistakes

_REQUIRED = ("name", "description", "input_schema")


class JoinError(Exception):
    """What the files say of a tool is no definition; ``problems`` says why."""

    def __init__(self, problems: list[SourceError]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


class Joined:
    """The facts of one tool, each from the last file that says it.

    Args:
        layers: what the files say, weakest first.
        places: folders of tools by name, for local tools whose folder nobody names.
    """

    def __init__(self, layers: Sequence[ToolLayer], places: Mapping[str, Path]) -> None:
        self.layers = layers
        self.tool_id = layers[0].tool_id
        self._places = places
        self._saying: dict[str, ToolLayer] = {}
        for layer in layers:
            self._saying.update(dict.fromkeys(layer.facts.model_fields_set, layer))

    def definition(self) -> ToolDefinition:
        """The tool, without its groups.

        Raises:
            JoinError: something is missing or does not fit together.
        """
        last = self.layers[-1]
        missing = [name for name in _REQUIRED if not self._get(name, None)]
        if missing:
            hint = "An entry without a tool.toml needs name, description, backend_runtime and input_schema."
            raise JoinError([last.problem((), f'"{name}" is missing', hint=hint) for name in missing])
        title, titles = words(self._get("name"))
        description, descriptions = words(self._get("description"))
        schemas = {"parameters": self._schema("input_schema"), "output_schema": self._schema("output_schema")}
        deployment = self._deployment()
        return ToolDefinition(
            name=self.tool_id,
            description=description,
            parameters=in_language(schemas["parameters"]),
            category=self._get("category", "general"),
            title=title,
            emoji=self._get("emoji", "") or None,
            effects=self._get("effects", None),
            idempotent=self._get("idempotent", False),
            risk=self._get("risk", "low"),
            timeout=self._get("timeout", None),
            output_schema=in_language(schemas["output_schema"]) or None,
            examples=tuple(self._get("examples", ())),
            intents=self._get("intents", {}),
            translations=_translations(titles, descriptions, schemas),
            deployment=deployment,
            version=self._get("version", "") or None,
            source=str(self.layers[0].document.path),
        )

    def claimed_groups(self) -> tuple[ToolLayer, str, list[str]] | None:
        """The groups that the tool says it belongs to, and who says so where; None where nobody does."""
        said = [(layer, key, groups) for layer in self.layers for key, groups in _groups_said(layer)]
        return said[-1] if said else None

    def _get(self, name: str, *default: Any) -> Any:
        layer = self._saying.get(name)
        return getattr(layer.facts, name) if layer is not None else default[0]

    def _problem(self, name: str, message: str, *, hint: str | None = None) -> JoinError:
        layer = self._saying.get(name, self.layers[-1])
        return JoinError([layer.problem(name, message, hint=hint)])

    def _deployment(self) -> Deployment:
        runtime = self._get("backend_runtime", "local" if self.layers[0].directory else None)
        if runtime is None:
            raise self._problem(
                "backend_runtime", '"backend_runtime" is missing', hint="It is local, docker or remote."
            )
        options = dict(self._get("options", {}))
        directory = None
        if runtime == "local":
            directory = self._directory()
            options["revision"] = revision(directory)
        elif runtime == "remote" and not self._get("url", ""):
            raise self._problem("url", 'a remote tool needs a "url"')
        elif runtime == "docker" and not (options.get("image") or options.get("container_id")):
            raise self._problem("options", 'a docker tool needs an "image" or a "container_id" under "options"')
        defaults = Deployment(runtime)
        auth: AuthTable | None = self._get("auth", None)
        return Deployment(
            runtime=runtime,
            directory=directory,
            endpoint=self._get("endpoint", defaults.endpoint),
            method=self._get("method", defaults.method),
            launch=self._get("launch", defaults.launch),
            artifacts=self._get("artifacts", defaults.artifacts),
            timeout=self._get("timeout", defaults.timeout),
            idle_timeout=self._get("idle", defaults.idle_timeout),
            start_timeout=self._get("start_timeout", defaults.start_timeout),
            environment=tuple(self._get("environment", ())),
            authentication=Authentication(auth.type, auth.secrets, auth.name or None) if auth else None,
            url=self._get("url", "") or None,
            options=options,
        )

    def _directory(self) -> Path:
        said = self._saying.get("directory")
        if said is not None and isinstance(said.facts, ToolEntry):
            directory = Path(os.path.normpath(said.document.path.parent / said.facts.directory))
        elif self.layers[0].directory is not None:
            directory = self.layers[0].directory
        elif self.tool_id in self._places:
            directory = self._places[self.tool_id]
        elif "/" in self.tool_id or self.tool_id in (".", ".."):
            raise self._problem("directory", 'a local tool of that name needs a "directory"')
        else:
            directory = self.layers[0].document.path.parent / "tools" / "local" / self.tool_id
        if not (directory / PROGRAM).is_file():
            hint = f"A local tool's folder holds {PROGRAM}, which is started with --port."
            raise self._problem("directory", f"there is no {PROGRAM} in {directory}", hint=hint)
        return directory

    def _schema(self, name: str) -> dict[str, Any]:
        value: dict[str, Any] | str = self._get(name, {})
        if isinstance(value, dict):
            return value
        layer = self._saying[name]
        folder = layer.document.path.parent
        path = Path(os.path.normpath(folder / value))
        if not path.is_relative_to(folder):
            raise self._problem(
                name, f'"{name}": {value} lies outside the folder', hint="Keep the file in the tool's folder."
            )
        if not path.is_file():
            raise self._problem(name, f'"{name}": there is no file {value} in the folder')
        try:
            document = parse_document(path, path.read_bytes())
        except SourceError as error:
            raise JoinError([error]) from error
        mistakes = schema_mistakes(document.data, of_object=name == "input_schema")
        if mistakes:
            raise JoinError(
                [
                    document.problem(found.location, f"{layer.subject}: {found.message}", hint=found.hint)
                    for found in mistakes
                ]
            )
        return document.data


def _translations(
    titles: Mapping[str, str], descriptions: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]]
) -> dict[str, Texts]:
    """The words in each language; a schema stands there whole, where it has any words in that language."""
    spoken = {name: languages_of(schema) for name, schema in schemas.items()}
    return {
        language: Texts(
            titles.get(language),
            descriptions.get(language),
            **{name: in_language(schemas[name], language) for name in spoken if language in spoken[name]},
        )
        for language in LANGUAGES
        if language in titles or language in descriptions or any(language in each for each in spoken.values())
    }


def revision(directory: Path) -> str:
    """A short hash of the program in a tool's folder: another one means that a running instance is out of date."""
    digest = hashlib.sha256()
    for path in sorted(_program_files(directory)):
        try:
            content = path.read_bytes()
        except OSError:  # removed since it was listed
            continue
        digest.update(f"{path.relative_to(directory)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _program_files(directory: Path) -> Iterator[Path]:
    for folder, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if name not in IGNORED_DIRECTORIES and name != "tests"]
        for name in names:
            if name.endswith(".py") or name == "pyproject.toml":
                yield Path(folder, name)


def _groups_said(layer: ToolLayer) -> Iterator[tuple[str, list[str]]]:
    facts = layer.facts
    if isinstance(facts, ToolManifest) and "groups" in facts.model_fields_set:
        yield "groups", facts.groups
    if isinstance(facts, ToolEntry) and "group_ids" in facts.model_fields_set:
        yield "group_ids", facts.group_ids
