"""The command line: ``toolcrib serve``, ``tools``, ``call``, ``new``, ``check`` and more."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the entry point of the ``toolcrib`` program.

    Without the extra ``[serve]`` it says so and exits with status 2.
    """
    try:
        from toolcrib.interfaces.cli.app import cli
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "toolcrib":
            raise
        sys.stderr.write(
            f"The command line needs the extra [serve]: the package {error.name} is not installed.\n"
            'Install it with: pip install "toolcrib[serve]"\n'
        )
        raise SystemExit(2) from None
    cli(prog_name="toolcrib")
