"""Python modules whose ``@tool`` functions are served in process."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from toolcrib.errors import SettingsError, ToolcribError

if TYPE_CHECKING:
    from toolcrib.crib import Crib


def import_modules(crib: Crib) -> None:
    """Import the modules of ``settings.modules``, so that their tools are registered in ``crib``.

    They are looked for in the project's folder first, then where Python looks.

    Raises:
        SettingsError: one of them cannot be imported.
    """
    from toolcrib.crib import use

    if not crib.settings.modules:
        return
    project = str(crib.settings.project.resolve())
    if project not in sys.path:
        sys.path.insert(0, project)
    for name in crib.settings.modules:
        try:
            with use(crib):
                import_module(name)
        except ToolcribError as error:
            raise SettingsError(f"The module {name} cannot be used: {error}", hint=error.hint) from error
        except Exception as error:
            hint = "Correct it, or name another with --module or TOOLCRIB_MODULES."
            if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
                raise SettingsError(f"There is no module {name} in {project} or on Python's path", hint=hint) from error
            raise SettingsError(
                f"The module {name} cannot be imported: {type(error).__name__}: {error}", hint=hint
            ) from error
