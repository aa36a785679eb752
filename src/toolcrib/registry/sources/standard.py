"""Where a crib's tools come from, unless it is told otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from toolcrib.definition.ports import Source
from toolcrib.errors import DefinitionError, SettingsError
from toolcrib.registry.shipped import shipped_root
from toolcrib.registry.sources.files import ToolFiles
from toolcrib.registry.sources.openapi.entries import OpenApiEntries
from toolcrib.registry.sources.openapi.source import OpenApiDocument
from toolcrib.registry.sources.python import EntryPoints, PythonModules, check_modules, make_importable
from toolcrib.registry.sources.python_folder import PythonFolder
from toolcrib.registry.sources.tools_json import ToolsJson
from toolcrib.settings import Settings


def standard_sources(settings: Settings) -> tuple[Source, ...]:
    """Every place where tools come from, in the order in which names are given away.

    First the folders of ``tools/local`` and the ``registry.json`` files; then Python: the modules of the settings,
    ``tools/python`` of project and home, installed packages; then ``tools.json``; in the end the APIs, since a document
    at a URL may keep one waiting.

    Raises:
        SettingsError: a module or a document of the settings cannot be used.
    """
    return tuple(_sources(settings))


def _sources(settings: Settings) -> Iterator[Source]:
    project, home = settings.project.resolve(), settings.home.resolve()
    roots = list(dict.fromkeys((shipped_root(), home, project)))
    own = list(dict.fromkeys((project, home)))
    manifests = [root / "registry.json" for root in roots]
    if settings.modules or settings.tools_json_modules != Settings.model_fields["tools_json_modules"].default:
        make_importable(project)
    check_modules(settings.modules, project)
    yield ToolFiles([root / "tools" / "local" for root in roots], manifests)
    if settings.modules:
        yield PythonModules(settings.modules, seconds=settings.load_timeout)
    for root in own:
        yield PythonFolder(root / "tools" / "python", seconds=settings.load_timeout)
    if settings.entry_points:
        yield EntryPoints(seconds=settings.load_timeout)
    for path in dict.fromkeys((project / "tools.json", project / "config" / "tools.json", home / "tools.json")):
        yield ToolsJson(path, modules=settings.tools_json_modules)
    for document in settings.openapi:
        yield _document(document, project)
    yield OpenApiEntries(manifests)


def _document(document: str, project: Path) -> OpenApiDocument:
    is_url = document.startswith(("http://", "https://"))
    try:
        return OpenApiDocument(document if is_url else project / Path(document).expanduser())
    except DefinitionError as error:
        raise SettingsError(f"TOOLCRIB_OPENAPI or --openapi cannot be used: {error}", hint=error.hint) from None
