"""``toolcrib check``: does a tool behave? (contract T025, DESIGN §11.26)"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolcrib.errors import DefinitionError
from toolcrib.interfaces.cli import output

if TYPE_CHECKING:
    from toolcrib.settings import Settings
    from toolcrib.validation.findings import Finding


@click.command()
@click.argument(
    "directory", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[DIR]"
)
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
def check(directory: Path | None, as_json: bool) -> None:
    """Check that a tool behaves.

    The tool in DIR, or without DIR every local tool there is, is started for real and asked directly: its own example,
    wrong parameters, strange bodies, many calls at once; then it is stopped. One line a check; exit status 1 if one
    fails. A running router is not disturbed.

    \b
    Example:
      toolcrib check tools/local/image_stitcher
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging()
    folders = [directory.resolve()] if directory is not None else output.run(_known_folders(settings))
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
    if not ok:
        raise click.exceptions.Exit(1)


async def _check(folder: Path, settings: Settings, *, quiet: bool) -> dict[str, Any]:
    from toolcrib.validation.examination import examine

    findings: list[Finding] = []

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
