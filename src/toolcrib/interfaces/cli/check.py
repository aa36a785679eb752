"""``toolcrib check``: does a tool behave? (contract T025, DESIGN §11.26)"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from toolcrib.errors import DefinitionError, ServiceError
from toolcrib.interfaces.cli import output

if TYPE_CHECKING:
    from toolcrib.settings import Settings
    from toolcrib.validation.findings import Finding


@click.command()
@click.argument(
    "directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[DIR]"
)
@click.option("--all", "every", is_flag=True, help="Start and check every local tool there is.")
@click.option("--fix", is_flag=True, help="Without DIR: mend what needs no thought, in your own files.")
@click.option("--notes", is_flag=True, help="Without DIR: tell what does no harm, too.")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", help="Without DIR: the language of the words.")
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
def check(
    directory: Path | None, every: bool, fix: bool, notes: bool, lang: Literal["en", "zh"], as_json: bool
) -> None:
    """Check that tools behave and belong together.

    With DIR the tool in that folder is started for real and asked directly: its own example, wrong parameters, strange
    bodies, many calls at once; then it is stopped. What registry.json says of it counts, and a running router is not
    disturbed. Without DIR all tools are looked at together, and nothing is started: names, schemas for each provider,
    intents and their keywords, actions, services, groups, languages, token budgets. One line a check; exit status 1 if
    one fails.

    \b
    Examples:
      toolcrib check
      toolcrib check tools/local/image_stitcher
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging()
    need_home(settings)
    if directory is None and not every:
        from toolcrib.interfaces.cli.crib_check import check_crib

        ok = check_crib(settings, as_json=as_json, fix=fix, language=lang, notes=notes)
    else:
        folders = [directory.resolve()] if directory is not None else output.run(_known_folders(settings))
        ok = _check_folders(folders, settings, as_json)
    if not ok:
        raise click.exceptions.Exit(1)


def need_home(settings: Settings) -> None:
    """Make sure that the home can be read, or does not exist yet; the check of all tools writes nothing into it.

    Raises:
        ServiceError: it cannot be.
    """
    try:
        next(settings.home.iterdir(), None)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ServiceError(
            f"{settings.home} cannot be read: {error.strerror or error}",
            hint="Set TOOLCRIB_HOME to a folder that this user may write.",
        ) from None


def _check_folders(folders: list[Path], settings: Settings, as_json: bool) -> bool:
    if not folders:
        raise DefinitionError("There is no local tool to check", hint="Make one: toolcrib new my_tool")
    reports = [output.run(_check(folder, settings, quiet=as_json)) for folder in folders]
    ok = all(report["ok"] for report in reports)
    if as_json:
        output.print_json({"ok": ok, "tools": reports})
    elif len(reports) > 1:
        failing = [report["tool_id"] for report in reports if not report["ok"]]
        others = f"; not: {', '.join(failing)}" if failing else ""
        click.echo(f"{len(reports) - len(failing)} of {len(reports)} tools behave{others}")
    return ok


async def _check(folder: Path, settings: Settings, *, quiet: bool) -> dict[str, Any]:
    from toolcrib.validation.examination import check_log, examine

    findings: list[Finding] = []
    log = check_log(folder.name, settings)
    with suppress(OSError):
        log.unlink(missing_ok=True)

    def report(finding: Finding) -> None:
        findings.append(finding)
        if not quiet:
            reason = f": {finding.reason}" if finding.reason else ""
            output.print_line(f"{finding.mark} {finding.check}{reason}")

    if not quiet:
        click.echo(f"{folder.name} ({folder})")
    doing = ["reading"]
    with output.progress(lambda: f"{folder.name}: {doing[0]} …"):
        await examine(folder, settings, report, lambda text: doing.__setitem__(0, text))
    if not quiet and any(finding.level == "fail" for finding in findings) and log.is_file():
        output.say(f"What it printed: {log}")
    return {
        "tool_id": folder.name,
        "directory": str(folder),
        "ok": all(finding.level != "fail" for finding in findings),
        "findings": [finding.to_dict() for finding in findings],
    }


async def _known_folders(settings: Settings) -> list[Path]:
    from toolcrib.crib import Crib

    crib = Crib(settings)
    await crib.reload()
    folders = [tool.deployment.directory for tool in crib.registry if tool.deployment and tool.runtime == "local"]
    broken = [Path(problem.path).parent for problem in crib.problems if Path(problem.path).name == "tool.toml"]
    return list(dict.fromkeys(folder for folder in [*folders, *broken] if folder is not None))
