"""``toolcrib check`` without a folder: the whole crib (contract W027; DESIGN §11.26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolcrib.interfaces.cli import output

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.exposure.intent_data import Intents
    from toolcrib.settings import Settings
    from toolcrib.validation.chain_findings import Language
    from toolcrib.validation.mending import Mended
    from toolcrib.validation.subject import Subject


def check_crib(
    settings: Settings, *, as_json: bool = False, fix: bool = False, language: Language = "en", notes: bool = False
) -> bool:
    """Check the crib, print what was found, and return whether nothing fails.

    Args:
        settings: of the crib.
        as_json: whether to print JSON.
        fix: whether to carry out the changes that need no thought, in files that toolcrib does not ship.
        language: of the words.
        notes: whether to tell what does no harm, too.
    """
    from toolcrib.validation.chain import CHECKS, examine_chain, lines_of, report_as_dict, result_line
    from toolcrib.validation.mending import fixes_of, mend

    crib = _crib(settings)
    subject = output.run(_subject(crib))
    outcomes = examine_chain(subject)
    mended: list[Mended] = []
    if fix and (fixes := fixes_of(outcomes)):
        mended = mend(fixes)
        subject = output.run(_subject(crib))
        outcomes = examine_chain(subject)
    report = report_as_dict(subject, outcomes)
    if as_json:
        changes = [
            {"path": str(each.fix.path), "change": each.fix.what.en, "refused": each.refused and each.refused.en}
            for each in mended
        ]
        output.print_json(report | ({"fixes": changes} if fix else {}))
        return bool(report["ok"])
    for each in mended:
        said = f"{each.fix.path}: {each.fix.what[language]}"
        click.echo(f"🔧 {said}" if each.refused is None else f"⚠️ {said} — {each.refused[language]}")
    count = len(subject.tool_names)
    click.echo(f"{count} 个工具" if language == "zh" else f"{count} tool{'' if count == 1 else 's'}")
    for outcome in outcomes:
        for line in lines_of(outcome, len(CHECKS), language, notes=notes):
            click.echo(line)
    click.echo(result_line(outcomes, language))
    return bool(report["ok"])


async def load_subject(settings: Settings) -> Subject:
    """The tools of a crib with these settings, those of its modules included, ready to be checked."""
    return await _subject(_crib(settings))


def _crib(settings: Settings) -> Crib:
    from toolcrib.crib import Crib

    return Crib(settings)


async def _subject(crib: Crib) -> Subject:
    """What the files say now; may be called again after they have changed."""
    from toolcrib.validation.subject import Subject

    await crib.reload()
    return Subject(crib.registry, sources=crib.sources, problems=crib.problems, intents=load_project_intents(crib))


def load_project_intents(crib: Crib) -> Intents:
    """The shipped intents with what ``intents.json`` of the crib's home and project add."""
    from toolcrib.exposure.intent_data import FILE_NAME, load_intents

    folders = dict.fromkeys(path.resolve() for path in (crib.settings.home, crib.settings.project))
    return load_intents([folder / FILE_NAME for folder in folders])
