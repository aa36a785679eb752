"""The group of all commands, and how every one of them reports an error."""

from __future__ import annotations

import sys
from typing import Any

import click

from toolcrib import __version__
from toolcrib.errors import InvalidNameError, SettingsError, ToolcribError
from toolcrib.interfaces.cli import output
from toolcrib.interfaces.cli.call import call
from toolcrib.interfaces.cli.check import check
from toolcrib.interfaces.cli.doctor import doctor
from toolcrib.interfaces.cli.intents import intents
from toolcrib.interfaces.cli.lint import lint
from toolcrib.interfaces.cli.new import new
from toolcrib.interfaces.cli.prepare import prepare
from toolcrib.interfaces.cli.serve import serve
from toolcrib.interfaces.cli.tools import logs, start, stop, tools

EXIT_FAILED = 1
EXIT_WRONG_USAGE = 2
EXIT_MISSING_PACKAGE = 2
EXIT_INTERRUPTED = 130


class CommandLine(click.Group):
    """Commands whose errors are one line and a hint on standard error.

    A failed call exits with 1, wrong usage with 2, an interrupt with 130.
    """

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and end the process with its exit status."""
        standalone = extra.get("standalone_mode", True)
        extra["standalone_mode"] = False
        if not standalone:
            return super().main(*args, **extra)
        sys.exit(self._status(*args, **extra))

    def _status(self, *args: Any, **extra: Any) -> int:
        try:
            status = super().main(*args, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return EXIT_WRONG_USAGE
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            hint = f"{context.command_path} --help shows how it is used." if context is not None else None
            output.report(error.format_message(), hint)
            return error.exit_code
        except ToolcribError as error:
            output.report(str(error), error.hint)
            return EXIT_WRONG_USAGE if isinstance(error, SettingsError | InvalidNameError) else EXIT_FAILED
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "toolcrib":
                raise
            output.report(
                f"This command needs the package {error.name}, which is not installed",
                'Install the extra it belongs to: pip install "toolcrib[serve]"',
            )
            return EXIT_MISSING_PACKAGE
        except OSError as error:
            output.report(f"{type(error).__name__}: {error}", "The file or folder must be there and writable.")
            return EXIT_FAILED
        except click.Abort:
            return EXIT_INTERRUPTED
        return status if isinstance(status, int) else 0


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="toolcrib", message="%(prog)s %(version)s")
def cli() -> None:
    """Define a tool once; toolcrib finds it, and runs it safely wherever it lives.

    \b
    First steps:
      toolcrib tools                                  what there is
      toolcrib call qr_code text=hello                run one tool, here and now
      toolcrib serve                                  run them all behind one HTTP address
      toolcrib new my_tool && toolcrib check          write one, and prove that it behaves

    State is kept under TOOLCRIB_HOME; every setting is an environment variable TOOLCRIB_<NAME>.
    """


for command in (serve, prepare, tools, call, start, stop, logs, new, check, lint, intents, doctor):
    cli.add_command(command)
