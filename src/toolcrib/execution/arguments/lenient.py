"""JSON with slips of the pen, rewritten as the JSON that was meant, where nothing is lost or guessed (DESIGN §3.2).

The reader goes through the text once, token by token, keeping strings as they are. Whatever it has to mend has a name
in the call's record. Text that ends inside a value is never completed: it was cut off.
"""

from __future__ import annotations

import json
import re

from toolcrib.execution.arguments.strict import MOST_LEVELS, CutOff, Malformed

SPECIAL_TOKEN = re.compile(
    r"<[|｜][^<>\s]{1,60}?[|｜]>|</?s>|<eos>|<end_of_turn>|\[/?(?:TOOL_CALLS|ARGS|INST)\]|</?(?:tool_call|function_call)>"
)
_SPACE = re.compile(r"[ \t\r\n]+")
_INVISIBLE = re.compile(r"[\ufeff\u200b-\u200d\u2060]+")
_ODD_SPACE = re.compile(r"[^\S \t\r\n]+|[\x00-\x08\x0e-\x1f]+")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_LOOSE_NUMBER = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)((?:[eE][+-]?[0-9]+)?)(?![\w.])")
_PART_AT_END = re.compile(r"[-+.\w]+\Z")
_WORD = re.compile(r"[^\W\d]\w*")
_BARE_KEY = re.compile(r"[^\W\d][\w-]*|\$[\w$-]*")
_DOUBLE = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_SINGLE = re.compile(r"'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_CURLY = re.compile(r"[“”„]([^“”„\\]*+(?:\\.[^“”„\\]*+)*+)[“”]", re.DOTALL)
_CURLY_SINGLE = re.compile(r"[‘’]([^‘’\\]*+(?:\\.[^‘’\\]*+)*+)[‘’]", re.DOTALL)
_STRINGS = {'"': _DOUBLE, "'": _SINGLE, **dict.fromkeys("“”„", _CURLY), **dict.fromkeys("‘’", _CURLY_SINGLE)}
_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPED_CONTROL = {code: f"\\u{code:04x}" for code in range(32)}
_ESCAPE_OR_QUOTE = re.compile(r'\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)|"', re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:\\|\\\\")
_ESCAPED_LETTER = re.compile(r"\\[bfnrtu]")
_FULL_WIDTH = str.maketrans("｛｝［］：，", "{}[]:,")
_LITERALS = {"true": "true", "false": "false", "null": "null"}
_OTHER_LITERALS = {
    "True": "true", "False": "false", "None": "null", "TRUE": "true", "FALSE": "false", "NULL": "null", "Null": "null",
}  # fmt: skip
_NO_JSON = {"NaN", "Infinity", "inf", "nan", "undefined"}
_OPENER = {"}": "{", "]": "["}
_CLOSER = {"{": "}", "[": "]"}

VALUE, FIRST_VALUE, NEXT_VALUE, FIRST_KEY, NEXT_KEY, COLON, AFTER = range(7)


def rewrite(text: str, start: int) -> tuple[str, int, list[str]]:
    """The object or array that begins at ``start`` as strict JSON, where it ends, and what was mended.

    Raises:
        CutOff: the text ends inside it.
        Malformed: what is meant can only be guessed.

    Example:
        >>> rewrite("{'a': True, b: [1, 2,],} ", 0)
        ('{"a":true,"b":[1,2]}', 24, ['python_literal', 'unquoted_keys', 'trailing_comma'])
    """
    return _Rewriting(text, start).run()


class _Rewriting:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.out: list[str] = []
        self.stack: list[str] = []
        self.state = VALUE
        self.repairs: dict[str, None] = {}

    def run(self) -> tuple[str, int, list[str]]:
        text, length = self.text, len(self.text)
        while True:
            if self.at >= length:
                raise CutOff
            if self.stack and self._skip():
                continue
            character = text[self.at]
            if not self.stack and character not in "{[":
                raise self._unexpected()
            if character in "｛｝［］：，":
                self._note("smart_quotes")
                character = character.translate(_FULL_WIDTH)
            if character in "}]":
                self._close(character)
                if not self.stack:
                    return "".join(self.out), self.at, list(self.repairs)
            elif self.state in (FIRST_KEY, NEXT_KEY):
                self._key(character)
            elif self.state == COLON:
                self._punctuation(character, ":", VALUE)
            elif self.state == AFTER:
                self._punctuation(character, ",", NEXT_KEY if self.stack[-1] == "{" else NEXT_VALUE)
            else:
                self._value(character)

    def _note(self, repair: str) -> None:
        self.repairs[repair] = None

    def _skip(self) -> bool:
        """Go past what stands between two tokens and means nothing."""
        text, at = self.text, self.at
        character = text[at]
        if match := _SPACE.match(text, at):
            repair = None
        elif character == "\\" and text[at + 1 : at + 2] in ("n", "r", "t"):
            self._note("escaped_whitespace")
            self.at += 2
            return True
        elif character == "\\" and at + 1 == len(text):
            raise CutOff
        elif character in "/#":
            match, repair = _COMMENT.match(text, at), "comments"
            if match is None and text.startswith("/*", at):
                raise CutOff
        elif character in "<[" and (match := SPECIAL_TOKEN.match(text, at)):
            repair = "special_tokens"
        elif match := _INVISIBLE.match(text, at):
            repair = "bom"
        elif match := _ODD_SPACE.match(text, at):
            repair = "control_chars" if character < " " else "smart_quotes"
        if match is None:
            return False
        if repair:
            self._note(repair)
        self.at = match.end()
        return True

    def _punctuation(self, character: str, wanted: str, state: int) -> None:
        if character != wanted:
            raise self._unexpected()
        self.out.append(wanted)
        self.at += 1
        self.state = state

    def _close(self, closer: str) -> None:
        stack = self.stack
        if self.state in (NEXT_KEY, NEXT_VALUE):
            self.out.pop()
            self._note("trailing_comma")
            self.state = AFTER
        if not stack or self.state in (VALUE, COLON):
            raise self._unexpected()
        opener = _OPENER[closer]
        if stack[-1] != opener:
            if self.state != AFTER or len(stack) < 2 or stack[-2] != opener:
                raise self._unexpected()
            self.out.append(_CLOSER[stack.pop()])
            self._note("missing_closer")
        self.out.append(closer)
        stack.pop()
        self.state = AFTER
        self.at += 1

    def _open(self, opener: str) -> None:
        self.out.append(opener)
        self.stack.append(opener)
        if len(self.stack) > MOST_LEVELS:
            raise Malformed(f"it is nested too deeply, over {MOST_LEVELS} levels")
        self.state = FIRST_KEY if opener == "{" else FIRST_VALUE
        self.at += 1

    def _key(self, character: str) -> None:
        if character in _STRINGS:
            self._string(character)
        elif match := _BARE_KEY.match(self.text, self.at):
            self._note("unquoted_keys")
            self.out.append(f'"{match[0]}"')
            self._move(match)
        else:
            raise self._unexpected()
        self.state = COLON

    def _value(self, character: str) -> None:
        text = self.text
        if character in "{[｛［":
            self._open(character.translate(_FULL_WIDTH))
            return
        if character in _STRINGS:
            self._string(character)
        elif match := _NUMBER.match(text, self.at):
            self.out.append(match[0])
            self._move(match)
        elif match := _WORD.match(text, self.at):
            self._word(match)
        else:
            self._loose_number()
        self.state = AFTER

    def _move(self, match: re.Match[str]) -> None:
        """Go past a token that may go on behind the end of the text."""
        self.at = match.end()
        if self.at == len(self.text):
            raise CutOff

    def _word(self, match: re.Match[str]) -> None:
        word = match[0]
        self._move(match)
        if word in _LITERALS:
            self.out.append(word)
        elif word in _OTHER_LITERALS:
            self._note("python_literal")
            self.out.append(_OTHER_LITERALS[word])
        elif word in _NO_JSON:
            raise Malformed(f"{word} is no JSON value")
        else:
            raise Malformed(f"{_shown(word)} stands where a value belongs; text needs double quotes")

    def _loose_number(self) -> None:
        if _PART_AT_END.match(self.text, self.at):
            raise CutOff
        match = _LOOSE_NUMBER.match(self.text, self.at)
        if match is None or not (match[2] or match[3]):
            if self.text.startswith("-Infinity", self.at):
                raise Malformed("-Infinity is no JSON value")
            raise self._unexpected()
        sign, whole, part, exponent = match.groups()
        if len(whole) > 1 and whole[0] == "0":
            raise Malformed(f"the number {_shown(match[0])} begins with 0")
        self._note("python_literal")
        self.out.append(f"{'-' if sign == '-' else ''}{whole or '0'}{'.' + (part or '0')}{exponent}")
        if "." not in match[0]:
            self.out[-1] = f"{'-' if sign == '-' else ''}{whole}{exponent}"
        self._move(match)

    def _string(self, quote: str) -> None:
        match = _STRINGS[quote].match(self.text, self.at)
        if match is None:
            raise CutOff
        if quote != '"':
            self._note("python_literal" if quote == "'" else "smart_quotes")
        self.out.append(f'"{self._body(match[1], quote)}"')
        self.at = match.end()

    def _body(self, body: str, quote: str) -> str:
        """The inside of a string as JSON writes it."""
        if "\\" in body or '"' in body:
            body = self._escapes(body, quote)
        if _CONTROL.search(body):
            self._note("control_chars")
            body = body.translate(_ESCAPED_CONTROL)
        return body

    def _escapes(self, body: str, quote: str) -> str:
        invalid = False

        def mended(match: re.Match[str]) -> str:
            nonlocal invalid
            escaped = match[1]
            if escaped is None:
                return '\\"'
            if escaped in '"\\/bfnrt' or (escaped[0] == "u" and len(escaped) == 5):
                return match[0]
            if escaped in "'”“„‘’":
                if quote == '"':
                    self._note("invalid_escape")
                return escaped
            if quote == "'" and len(escaped) > 1:
                return json.dumps(chr(int(escaped[1:], 16)))[1:-1] if int(escaped[1:], 16) < 0x110000 else match[0]
            invalid = True
            return f"\\\\{escaped}"

        result = _ESCAPE_OR_QUOTE.sub(mended, body)
        if invalid:
            self._note("invalid_escape")
            if _DRIVE.match(body) and _ESCAPED_LETTER.search(body):
                raise Malformed(f"in {_shown(body)} each backslash must be doubled: some of them read as escapes")
        return result

    def _unexpected(self) -> Malformed:
        around = self.text[self.at : self.at + 20]
        return Malformed(f"{_shown(around)} is unexpected at position {self.at}; quotes inside text need a backslash")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
