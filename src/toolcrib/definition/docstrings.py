"""What a docstring says: the description, and a text for each parameter.

Google's, NumPy's and Sphinx' styles, with English and Chinese headings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_PARAMETER_HEADINGS = frozenset((
    "args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other args", "other parameters",
    "attributes", "参数", "参数说明", "属性",
))  # fmt: skip
_REMARK_HEADINGS = frozenset((
    "note", "notes", "warning", "warnings", "important", "tip", "hint", "caution", "注意", "说明", "备注", "提示",
))  # fmt: skip
_HEADINGS = _PARAMETER_HEADINGS | _REMARK_HEADINGS | frozenset((
    "returns", "return", "yields", "yield", "receives", "raises", "raise", "except", "exceptions", "warns",
    "methods", "example", "examples", "usage", "references", "todo", "todos", "see also",
    "返回", "返回值", "异常", "抛出", "示例", "例子", "用法",
))  # fmt: skip
_HEADING = re.compile(r"([A-Za-z][A-Za-z ]{2,18}|[\u4e00-\u9fff]{2,4})\s*[:：]\s*")
_NAME = r"[*`]{0,2}\w+[*`]{0,2}"
_KIND = r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]|（[^（）]*）)?"
_ENTRY = re.compile(rf"({_NAME})\s*{_KIND}[*`]{{0,2}}\s*[:：]\s*(.*)")
_NUMPY_ENTRY = re.compile(rf"({_NAME}(?:\s*,\s*{_NAME})*)\s*(?::.*)?")
_FIELD = re.compile(r"[:@](\w+)\b\s*([^:]*?)\s*:(?:\s+(.*)|$)")
_PARAMETER_FIELDS = frozenset(("param", "parameter", "arg", "argument", "key", "keyword"))
_OTHER_FIELDS = frozenset((
    "type", "return", "returns", "rtype", "raise", "raises", "except", "exception", "yield", "yields", "ytype",
    "var", "ivar", "cvar",
))  # fmt: skip
_ITEM = re.compile(r"([-*•]|\d+[.)])\s")


@dataclass(slots=True)
class Docstring:
    """A docstring, read.

    Attributes:
        description: the text before its sections, and sections that are for the reader, such as notes.
        parameters: name → text; the attributes of a class, too.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse(text: str | None) -> Docstring:
    """Read a docstring in any of the usual styles; what is no known section stays in the description.

    Example:
        >>> parse("Find it.\\n\\nArgs:\\n    query: what to look for").parameters
        {'query': 'what to look for'}
    """
    return _read(inspect.cleandoc(text).split("\n")) if text else Docstring()


def _read(lines: Sequence[str]) -> Docstring:
    found = Docstring()
    description: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        heading, start = _heading(lines, position)
        if heading is not None and heading not in _REMARK_HEADINGS:
            end, underlined = _section_end(lines, start), start > position + 1
            if heading in _PARAMETER_HEADINGS:
                _entries(lines[start:end], found.parameters, numpy=underlined)
            position = end
        elif line[:1] in (":", "@") and (match := _FIELD.match(line)) and match[1] in _PARAMETER_FIELDS | _OTHER_FIELDS:
            end = _field_end(lines, position + 1)
            if match[1] in _PARAMETER_FIELDS and match[2]:
                name = match[2].split()[-1].lstrip("*")
                found.parameters[name] = _unwrapped([match[3] or "", *lines[position + 1 : end]])
            position = end
        else:
            description.append(line)
            position += 1
    text = "\n".join(description).strip()
    found.description = re.sub(r"\n{3,}", "\n\n", text) if "\n\n\n" in text else text
    return found


def _heading(lines: Sequence[str], position: int) -> tuple[str | None, int]:
    """The section that begins at this line, and where its content begins."""
    line = lines[position]
    if not line or line[0] in " \t":
        return None, position
    line = line.rstrip()
    if line[-1:] not in (":", "：") and line.lower() not in _HEADINGS:
        return None, position
    following = lines[position + 1].strip() if position + 1 < len(lines) else ""
    if len(following) >= 3 and set(following) <= {"-", "="} and line.lower() in _HEADINGS:
        return line.lower(), position + 2
    if match := _HEADING.fullmatch(line):
        name = match[1].strip().lower()
        if name in _HEADINGS:
            return name, position + 1
    return None, position


def _section_end(lines: Sequence[str], start: int) -> int:
    """Where the section ends: at the next heading, or at text that is as little indented as the heading."""
    indented = next((line[:1] in " \t" for line in lines[start:] if line.strip()), False)
    blank = False
    for position in range(start, len(lines)):
        line = lines[position]
        if not line.strip():
            blank = True
            continue
        if line[0] not in " \t":
            underlined_entry = not indented and not blank
            if _heading(lines, position)[0] is not None or line[0] in ":@":
                return position
            if (
                indented
                or (blank and not _continues(lines, position))
                or not (underlined_entry or _continues(lines, position))
            ):
                return position
        blank = False
    return len(lines)


def _continues(lines: Sequence[str], position: int) -> bool:
    """Whether an unindented line is an entry: its description follows, indented."""
    return position + 1 < len(lines) and lines[position + 1][:1] in (" ", "\t") and bool(lines[position + 1].strip())


def _field_end(lines: Sequence[str], start: int) -> int:
    for position in range(start, len(lines)):
        line = lines[position]
        if not line.strip() or line[0] in ":@" or (line[0] not in " \t" and _heading(lines, position)[0] is not None):
            return position
    return len(lines)


def _entries(lines: Sequence[str], parameters: dict[str, str], *, numpy: bool) -> None:
    margin = _margin(lines)
    names: list[str] = []
    text: list[str] = []

    def finish() -> None:
        for name in names:
            parameters[name] = _unwrapped(text)

    for line in lines:
        body = line[margin:]
        if body.strip() and body[0] not in " \t":
            name, _, said = body.partition(":")
            if name.isidentifier() and not numpy:
                finish()
                names, text = [name], [said]
                continue
            match = (_NUMPY_ENTRY if numpy else _ENTRY).fullmatch(body.rstrip())
            if match:
                finish()
                names = [name.strip(" *`") for name in match[1].split(",")]
                text = [] if numpy else [match[2]]
                continue
        text.append(body)
    finish()


def _unwrapped(lines: Sequence[str]) -> str:
    """Wrapped prose as one line; list items and their indentation stay."""
    if len(lines) == 1:
        return lines[0].strip()
    margin = _margin(lines[1:])
    result = ""
    for number, line in enumerate(lines):
        body = line.rstrip() if number == 0 else line[margin:].rstrip()
        if not body.strip():
            continue
        listed = body[0] in " \t" or _ITEM.match(body)
        result += ("\n" if listed else " ") + body if result else body.strip()
    return result.strip()


def _margin(lines: Sequence[str]) -> int:
    """How far the least indented line that is not blank is indented."""
    least = 1000
    for line in lines:
        text = line.lstrip()
        if text and len(line) - len(text) < least:
            least = len(line) - len(text)
    return 0 if least == 1000 else least
