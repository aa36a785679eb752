"""The checks of a whole crib, S3's seven first (contract W027; DESIGN §11.6).

S3's ``validate_tool_chain.py`` compared tables that were kept by hand. Here they are generated, so most of what it
looked for cannot happen; the checks look at the crib's real state nevertheless, and twelve more follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.validation import checks_names, checks_schemas, checks_tables, checks_wiring, checks_words
from toolcrib.validation.chain_findings import ChainFinding, Language, Outcome, Say, counts
from toolcrib.validation.subject import Subject

TITLE = "WinClaw 工具全链路一致性校验"
RULE = "=" * 60


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: stable, for programs.
        title: what it looks at.
        run: yields what it finds.
        summary: what to say where all is well.
    """

    name: str
    title: Say
    run: Callable[[Subject], Iterable[ChainFinding]]
    summary: Callable[[Subject], Say] = lambda subject: Say("", "")


def _covered(subject: Subject) -> Say:
    return Say(f"{len(subject.tools)} tools", f"{len(subject.tools)} 工具")


def _keys(subject: Subject) -> Say:
    count = len(subject.tables.categories)
    return Say(f"{count} intents", f"{count} 个意图")


def _reached(subject: Subject) -> Say:
    by = checks_words.reached(subject)
    return Say(
        f"{by['keyword']} examples by keywords, {by['word']} by words",
        f"{by['keyword']} 条示例经关键词，{by['word']} 条经词语",
    )


def _dialects(subject: Subject) -> Say:
    count = len(checks_schemas.DIALECTS)
    return Say(
        f"{len(subject.definitions)} functions in {count} forms", f"{len(subject.definitions)} 个函数，{count} 种格式"
    )


def _tokens(subject: Subject) -> Say:
    total = checks_schemas.total_tokens(subject)
    return Say(f"about {total} in all", f"合计约 {total}")


CHAIN = (
    Check(
        "intent_coverage",
        Say("INTENT_TOOL_MAPPING covers every tool", "INTENT_TOOL_MAPPING 覆盖"),
        checks_tables.check_intent_coverage,
        _covered,
    ),
    Check(
        "mapping_references",
        Say("INTENT_TOOL_MAPPING refers to tools that exist", "INTENT_TOOL_MAPPING 引用有效"),
        checks_tables.check_mapping_references,
    ),
    Check(
        "priority_references",
        Say("INTENT_PRIORITY_MAP refers to tools that exist", "INTENT_PRIORITY_MAP 引用有效"),
        checks_tables.check_priority_references,
    ),
    Check(
        "tool_of_function",
        Say("_extract_tool_name knows every function", "_extract_tool_name 已知前缀覆盖"),
        checks_names.check_tool_of_function,
    ),
    Check(
        "dependencies",
        Say("dependencies refer to tools that exist", "dependencies 引用有效"),
        checks_wiring.check_dependencies,
    ),
    Check(
        "constructors",
        Say("_build_init_kwargs: every tool can be made", "_build_init_kwargs 覆盖"),
        checks_wiring.check_constructors,
    ),
    Check(
        "aligned_keys",
        Say("the keys of the three tables are the same", "三表 key 对齐"),
        checks_tables.check_aligned_keys,
        _keys,
    ),
)
"""S3's seven."""

CHECKS = (
    *CHAIN,
    Check("actions", Say("declared actions are those of the code", "actions 与代码一致"), checks_wiring.check_actions),
    Check(
        "reachability",
        Say("examples lead to their tool", "示例可达"),
        checks_words.check_reachability,
        _reached,
    ),
    Check(
        "schemas",
        Say("schemas are valid for every provider", "schema 对各提供商有效"),
        checks_schemas.check_schemas,
        _dialects,
    ),
    Check(
        "names", Say("names are unique and fit every provider", "名称唯一且符合各提供商要求"), checks_names.check_names
    ),
    Check("risk", Say("risk fits effects", "风险等级与 effects 一致"), checks_schemas.check_risk),
    Check("tokens", Say("tokens within the budget", "token 预算"), checks_schemas.check_tokens, _tokens),
    Check("keywords", Say("no dead or double keywords", "关键词无重复、无失效"), checks_tables.check_keywords),
    Check("languages", Say("words in Chinese and English", "中英文文本齐全"), checks_words.check_languages),
    Check("services", Say("services and credentials", "服务与凭据"), checks_wiring.check_services),
    Check("groups", Say("usage_order is a permutation", "usage_order 为排列"), checks_wiring.check_groups),
    Check("injection", Say("implicit injection", "隐式注入"), checks_wiring.check_injection),
    Check("files", Say("files that define tools", "工具定义文件"), checks_wiring.check_files),
)
"""All of them; ``files`` is last, since it leaves out what another has reported."""


def examine_chain(subject: Subject, checks: Sequence[Check] = CHECKS) -> list[Outcome]:
    """Run the checks, in their order.

    Example:
        >>> from toolcrib.registry.registry import ToolRegistry
        >>> {outcome.level for outcome in examine_chain(Subject(ToolRegistry()))}
        {'pass'}
    """
    outcomes: list[Outcome] = []
    reported = set()
    for number, check in enumerate(checks, start=1):
        findings = tuple(check.run(subject))
        if check.name == "files":
            findings = tuple(finding for finding in findings if finding.place not in reported)
        reported |= {finding.place for finding in findings}
        outcomes.append(Outcome(check.name, number, check.title, check.summary(subject), findings))
    return outcomes


def chain_report(subject: Subject) -> tuple[str, bool]:
    """S3's block, and whether nothing fails (contract W027); every tool has to serve an intent here."""
    subject.strict = True
    outcomes = examine_chain(subject, CHAIN)
    lines = [RULE, TITLE, RULE, f"已加载 tools.json: {len(subject.tool_names)} 个启用工具", ""]
    lines += [line for outcome in outcomes for line in lines_of(outcome, len(CHAIN), "zh")]
    lines += ["", result_line(outcomes, "zh"), RULE]
    return "\n".join(lines), not counts(outcomes)["fail"]


def lines_of(outcome: Outcome, total: int, language: Language, *, notes: bool = False) -> list[str]:
    """An outcome in S3's form, and below it what was found.

    Args:
        outcome: of one check.
        total: how many checks there are.
        language: of the words.
        notes: whether to tell what does no harm.
    """
    shown = [each for each in outcome.findings if notes or each.severity != "note"]
    problems = sum(each.severity != "note" for each in outcome.findings)
    summary = outcome.summary[language]
    if problems:
        summary = f"{problems} 个问题" if language == "zh" else f"{problems} problem{'s' if problems > 1 else ''}"
    head = f"  {outcome.mark} [{outcome.number}/{total}] {outcome.title[language]}{f': {summary}' if summary else ''}"
    return [head, *(f"       {_SIGNS[each.severity]} {each.text(language)}" for each in shown)]


_SIGNS = {"fail": "✗", "warn": "!", "note": "·"}


def result_line(outcomes: Sequence[Outcome], language: Language) -> str:
    """How many checks passed, warned and failed."""
    count = counts(outcomes)
    if language == "zh":
        return f"结果: {count['pass']} 通过, {count['warn']} 警告, {count['fail']} 失败"
    return f"Result: {count['pass']} passed, {count['warn']} warned, {count['fail']} failed"


def report_as_dict(subject: Subject, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The whole report as JSON."""
    count = counts(outcomes)
    return {
        "ok": not count["fail"],
        "tools": len(subject.tool_names),
        "passed": count["pass"],
        "warnings": count["warn"],
        "failures": count["fail"],
        "checks": [outcome.to_dict() for outcome in outcomes],
    }
