"""A folder of Python files as a source of tools (contract N050, N051, W028)."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.invoke import invoke
from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.python_folder import PythonFolder

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

GREET = '''\
from toolcrib import tool


@tool
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello {name}"
'''

TWO = '''\
from toolcrib import tool

WORD = "one"


def helper() -> str:
    return WORD


@tool
def first() -> str:
    """The first."""
    return helper()


@tool
def second() -> str:
    """The second."""
    return "two"
'''

GREETER_CLASS = """\
from toolcrib import ActionDef, BaseTool, ToolResult


class {name}(BaseTool):
    {body}

    def get_actions(self):
        return [ActionDef("greet", "Greets.", {{"who": {{"type": "string"}}}}, ["who"])]

    async def execute(self, action, params):
        return ToolResult(status="success", output=f"Hello {{params['who']}}")
"""


class Folder:
    """A folder of Python files, and the source that reads it."""

    def __init__(self, root: Path, seconds: float = 10 * SLACK) -> None:
        self.root = root
        self.source = PythonFolder(root, seconds=seconds)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def load(self) -> Listing:
        return self.source.load()

    def tools(self) -> dict[str, ToolDefinition]:
        """The tools it lists now, which must be without problems."""
        listing = self.load()
        assert listing.problems == ()
        return {tool.name: tool for tool in listing.tools}

    def problem(self) -> tuple[str, int | None, str]:
        """Of the one problem there is now: the file's name, the line, and the message."""
        (problem,) = self.load().problems
        return Path(problem.path).name, problem.line, str(problem).removeprefix(f"{problem.path}:{problem.line}: ")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "python")


def call(tool: ToolDefinition, **arguments: object) -> object:
    result = invoke(tool, arguments)
    assert result.success, result.error
    return result.data if result.data is not None else result.output


# --- what is a tool ---------------------------------------------------------------------------------------------------


def test_N051_a_file_in_the_folder_is_all_it_takes(folder: Folder) -> None:
    assert folder.tools() == {}
    path = folder.write("hello.py", GREET)
    tool = folder.tools()["greet"]
    assert (tool.description, tool.parameters["required"], tool.source) == ("Greets somebody.", ["name"], str(path))
    assert call(tool, name="Ada") == "Hello Ada"


def test_N051_the_recipe_of_S1_works_unchanged(folder: Folder) -> None:
    folder.write(
        "my_tool.py",
        "from toolcrib import tool\n"
        "@tool(name='my_tool', description='A tool.', parameters={'type': 'object', 'properties': {}},\n"
        "      category='own')\n"
        "def my_tool(arguments: dict) -> dict:\n    return {'result': 'ok'}\n",
    )
    tool = folder.tools()["my_tool"]
    assert (tool.category, call(tool)) == ("own", {"result": "ok"})


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "def __init__(self, greeting='Hello'):\n        self.greeting = greeting",
        "from dataclasses import dataclass\n"
        "    @dataclass\n    class Config:\n        loud: bool = False\n"
        "    def __init__(self, config):\n        assert config.loud is False",
    ],
)
def test_W028_a_class_of_tools_is_made_without_arguments_or_with_its_defaults(folder: Folder, body: str) -> None:
    folder.write("greeter.py", GREETER_CLASS.format(name="GreeterTool", body=body))
    assert call(folder.tools()["greeter_greet"], who="Ada") == "Hello Ada"


def test_W028_a_class_that_cannot_be_made_is_named_with_its_line_and_the_others_load(folder: Folder) -> None:
    text = GREETER_CLASS.format(name="NeedyTool", body="def __init__(self, key: str): ...")
    folder.write("needy.py", text + "\n\n" + GREET)
    listing = folder.load()
    assert [tool.name for tool in listing.tools] == ["greet"]
    assert folder.problem() == ("needy.py", 4, "NeedyTool could not be made: it needs key")


def test_W028_an_object_made_in_the_file_counts_instead_of_its_class(folder: Folder) -> None:
    text = GREETER_CLASS.format(name="GreeterTool", body="def __init__(self, key: str):\n        self.key = key")
    folder.write("greeter.py", text + "\n\ngreeter = GreeterTool('secret')\n")
    action = action_of(folder.tools()["greeter_greet"])
    assert action is not None
    assert action.tool.key == "secret"  # type: ignore[attr-defined]


def test_W028_a_tool_object_that_the_file_registers_itself_is_listed_once(folder: Folder) -> None:
    text = GREETER_CLASS.format(name="GreeterTool", body="pass")
    registering = "\nfrom toolcrib.crib import default_crib\ndefault_crib().registry.register_tool(GreeterTool())\n"
    folder.write("greeter.py", text + registering)
    assert list(folder.tools()) == ["greeter_greet"]


def test_N051_definitions_partials_and_several_tools_of_one_file(folder: Folder) -> None:
    folder.write(
        "many.py",
        "import functools, math\nfrom toolcrib import ToolDefinition, tool\n"
        "def add(a: int, b: int) -> int:\n    return a + b\n"
        "tool(name='increment', description='Adds one.')(functools.partial(add, b=1))\n"
        "tool(name='root', parameters={'type': 'object', 'properties': {'x': {'type': 'number'}}})(math.sqrt)\n"
        "ping = ToolDefinition('ping', 'Answers.', {'type': 'object'}, lambda arguments: 'pong')\n"
        "again = ping\n",
    )
    tools = folder.tools()
    assert list(tools) == ["increment", "root", "ping"]
    assert (call(tools["increment"], a=2), call(tools["ping"])) == (3, "pong")


def test_N051_what_a_file_imports_is_not_its_own(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = f"library_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{library}.py").write_text(GREET + "\n" + GREETER_CLASS.format(name="GreeterTool", body="pass"))
    monkeypatch.syspath_prepend(tmp_path)
    folder.write(
        "user.py", f"from {library} import *\nfrom toolcrib import BaseTool\nfrom {library} import GreeterTool\n"
    )
    try:
        assert folder.tools() == {}
    finally:
        sys.modules.pop(library, None)


def test_N051_packages_and_shared_files(folder: Folder) -> None:
    folder.write("_shared.py", "from toolcrib import tool\nGREETING = 'Hello'\n@tool\ndef no(): 'Is none.'\n")
    folder.write("_data/notes.py", "raise RuntimeError")
    folder.write("plain.py", GREET.replace("from toolcrib", "from ._shared import GREETING\nfrom toolcrib"))
    folder.write("many/__init__.py", "from .inner import shout\nfrom .. import _shared\n")
    folder.write(
        "many/inner.py",
        "from toolcrib import tool\n@tool\ndef shout(x: str) -> str:\n    'Shouts.'\n    return x.upper()\n",
    )
    folder.write("no_package/inside.py", GREET)
    folder.write(".hidden.py", GREET)
    folder.write("notes.txt", "no Python")
    tools = folder.tools()
    assert list(tools) == ["shout", "greet"]
    assert call(tools["shout"], x="a") == "A"


def test_N051_dataclasses_and_models_mean_what_they_say(folder: Folder) -> None:
    folder.write(
        "typed.py",
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom pydantic import BaseModel\n"
        "from toolcrib import tool\n@dataclass\nclass Point:\n    x: int\n    next: Point | None = None\n"
        "class Place(BaseModel):\n    point: Point\n"
        "@tool\ndef far(place: Place) -> int:\n    'How far.'\n    return place.point.x\n",
    )
    assert call(folder.tools()["far"], place={"point": {"x": 3}}) == 3


# --- changes ----------------------------------------------------------------------------------------------------------


def test_T015_only_the_tools_that_have_changed_are_replaced(folder: Folder) -> None:
    folder.write("two.py", TWO)
    before = folder.tools()
    folder.write("two.py", TWO.replace('return "two"', 'return "another"'))
    after = folder.tools()
    assert after["first"] is before["first"]
    assert (call(before["second"]), call(after["second"])) == ("two", "another")
    folder.write("two.py", "# remarks\n\n" + TWO.replace('return "two"', 'return "another"  # as said'))
    assert folder.tools() == after


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ('WORD = "one"', 'WORD = "uno"', "uno"),
        ("return WORD", "return WORD * 2", "oneone"),
        ("return helper()", "return helper() + '!'", "one!"),
    ],
)
def test_T015_a_tool_is_replaced_when_what_it_uses_has_changed(folder: Folder, old: str, new: str, result: str) -> None:
    folder.write("two.py", TWO)
    before = folder.tools()
    folder.write("two.py", TWO.replace(old, new))
    after = folder.tools()
    assert call(after["first"]) == result
    assert call(before["first"]) == "one"


def test_T015_two_edits_within_one_second_are_two_versions(folder: Folder) -> None:
    for number in range(5):
        path = folder.write("n.py", GREET.replace("Hello", f"Hell{number}"))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        assert call(folder.tools()["greet"], name="Ada") == f"Hell{number} Ada"
    assert not list(folder.root.rglob("*.pyc"))


def test_T015_a_changed_shared_file_changes_the_tools_that_use_it(folder: Folder) -> None:
    folder.write("_shared.py", "GREETING = 'Hello'\n")
    using = "from ._shared import GREETING\n" + GREET.replace('f"Hello {name}"', 'f"{GREETING} {name}"')
    folder.write("using.py", using)
    folder.write("alone.py", TWO)
    before = folder.tools()
    folder.write("_shared.py", "GREETING = 'Good day'\n")
    after = folder.tools()
    assert call(after["greet"], name="Ada") == "Good day Ada"
    assert after["first"] is before["first"]


def test_T015_a_file_that_is_removed_takes_its_tools_and_modules_away(folder: Folder) -> None:
    path = folder.write("hello.py", GREET)
    folder.write("other.py", TWO)
    assert len(folder.tools()) == 3
    path.unlink()
    assert list(folder.tools()) == ["first", "second"]
    names = [name for name in sys.modules if name.startswith("toolcrib_tools_") and name.endswith(".hello")]
    assert names == []


def test_no_module_is_left_when_the_source_is_gone(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "python")
    folder.write("json.py", GREET)
    before = set(sys.modules)
    tool = folder.tools()["greet"]
    assert sys.modules["json"].__name__ == "json"
    assert len(set(sys.modules) - before) == 2
    del folder
    gc.collect()
    assert set(sys.modules) - before == set()
    assert call(tool, name="Ada") == "Hello Ada"


def test_T015_an_emptied_file_counts_as_one_that_is_being_written(folder: Folder) -> None:
    folder.write("hello.py", GREET)
    before = folder.tools()
    folder.write("hello.py", "")
    assert folder.tools() == before
    folder.write("hello.py", "# nothing any more\n")
    assert folder.tools() == {}


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("addition", "line", "message"),
    [
        ("def f(:\n", 8, "not valid Python: invalid syntax"),
        ("x = 1\ny = undefined\n", 9, "loading it failed: NameError: name 'undefined' is not defined"),
        ("import json\njson.loads('{')\n", 9, "loading it failed: JSONDecodeError: Expecting property name"),
        ("import sys\nsys.exit(3)\n", 9, "loading it failed: it ends the program (exit 3)"),
        ("raise KeyboardInterrupt\n", 8, "loading it failed: KeyboardInterrupt"),
        ("while True:\n    print('x' * 1000)\n", 9, "loading it failed: it prints more than 64 KiB"),
        ("@tool\ndef greet(): 'Again.'\n", 8, "loading it failed: Two tools are named 'greet' here"),
        ("@tool\nclass Wrong: ...\n", 8, "loading it failed: Wrong is a class, not a function"),
    ],
)
def test_T015_a_file_with_an_error_keeps_its_last_good_tools(
    folder: Folder, addition: str, line: int, message: str
) -> None:
    path = folder.write("hello.py", GREET)
    folder.write("other.py", TWO)
    before = folder.tools()
    path.write_text(GREET + addition)
    for _ in range(2):
        assert {tool.name: tool for tool in folder.load().tools} == before
        name, where, text = folder.problem()
        assert (name, where) == ("hello.py", line)
        assert text.startswith(message)
    path.write_text(GREET.replace("Hello", "Hi"))
    assert call(folder.tools()["greet"], name="Ada") == "Hi Ada"


def test_T015_a_new_file_with_an_error_does_not_disturb_the_others(folder: Folder) -> None:
    folder.write("a.py", "raise RuntimeError('no licence')\n")
    folder.write("b.py", GREET)
    assert [tool.name for tool in folder.load().tools] == ["greet"]
    assert folder.problem() == ("a.py", 1, "loading it failed: RuntimeError: no licence")


def test_T015_a_tool_that_means_nothing_is_refused_alone_and_stays_what_it_was(folder: Folder) -> None:
    folder.write("two.py", TWO)
    before = folder.tools()
    wrong = TWO.replace("def second() -> str", "def second(x: 'Nonsense') -> str").replace(
        "return helper()", "return 1"
    )
    folder.write("two.py", wrong)
    listing = {tool.name: tool for tool in folder.load().tools}
    assert listing["second"] is before["second"]
    assert call(listing["first"]) == 1
    name, line, text = folder.problem()
    assert (name, line) == ("two.py", 16)
    assert text.startswith("tool 'second': ")
    assert "Nonsense" in text


@pytest.mark.parametrize("parameters", ["{'type': 'objekt'}", "{'type': 'object', 'default': {1, 2}}", "{}"])
def test_T026_a_schema_that_is_none_is_refused(folder: Folder, parameters: str) -> None:
    folder.write(
        "raw.py",
        f"from toolcrib import tool\n@tool(name='raw', parameters={parameters})\ndef raw(arguments: dict): 'Raw.'\n",
    )
    listing = folder.load()
    if parameters == "{}":
        assert [tool.name for tool in listing.tools] == ["raw"]
        return
    assert listing.tools == ()
    assert folder.problem()[:2] == ("raw.py", 2)


def test_T015_a_file_that_does_not_end_is_interrupted_at_its_line(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "python", seconds=0.3)
    folder.write("a.py", "import time\ncount = 0\nwhile True:\n    count += 1\n")
    folder.write("b.py", GREET)
    begun = time.monotonic()
    listing = folder.load()
    assert time.monotonic() - begun < 10 * SLACK
    assert [tool.name for tool in listing.tools] == ["greet"]
    name, line, text = folder.problem()
    assert (name, line in (3, 4), text) == ("a.py", True, "loading it failed: it takes longer than 0.3 s")
    assert not [thread for thread in threading.enumerate() if thread.name == "toolcrib-load"]


def test_T015_a_file_that_cannot_be_interrupted_is_left_behind_and_can_be_mended(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "python", seconds=0.2)
    release = threading.Event()
    sys.modules["toolcrib_test_release"] = release  # type: ignore[assignment]
    try:
        folder.write("a.py", "import sys\nsys.modules['toolcrib_test_release'].wait()\n")
        assert folder.problem()[:2] == ("a.py", 2)
        folder.write("a.py", GREET)
        assert call(folder.tools()["greet"], name="Ada") == "Hello Ada"
    finally:
        release.set()
        del sys.modules["toolcrib_test_release"]
        for thread in threading.enumerate():
            if thread.name == "toolcrib-load":
                thread.join(10 * SLACK)


def test_what_a_file_prints_while_it_is_loaded_goes_to_the_log(
    folder: Folder, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder.write("chatty.py", "print('loading', 1)\n" + GREET.replace("return", "print('called'); return"))
    with caplog.at_level("INFO"):
        tool = folder.tools()["greet"]
    assert capsys.readouterr().out == ""
    assert "printed while it was loaded: loading 1" in caplog.text
    call(tool, name="Ada")
    assert capsys.readouterr().out == "called\n"


def test_N003_a_name_in_two_files_is_refused_for_the_later_one_naming_both(folder: Folder) -> None:
    later = folder.write("b.py", GREET)
    tool = folder.tools()["greet"]
    folder.write("a.py", "\n" + GREET)
    listing = folder.load()
    assert listing.tools == (tool,)
    assert folder.problem() == ("a.py", 5, f"tool 'greet' is defined in {later} already")
    later.unlink()
    assert folder.tools()["greet"].source == str(folder.root / "a.py")


def test_two_files_whose_modules_would_have_one_name(folder: Folder) -> None:
    folder.write("x/__init__.py", GREET)
    folder.write("x.py", TWO)
    folder.write("y.z.py", TWO)
    listing = folder.load()
    assert [tool.name for tool in listing.tools] == ["greet"]
    assert [Path(problem.path).name for problem in listing.problems] == ["x.py", "y.z.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="may read everything")
def test_T015_a_file_that_cannot_be_read_keeps_its_tools(folder: Folder) -> None:
    path = folder.write("hello.py", GREET)
    before = folder.tools()
    path.chmod(0)
    assert {tool.name: tool for tool in folder.load().tools} == before
    assert folder.problem()[0] == "hello.py"
