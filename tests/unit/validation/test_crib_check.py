"""``toolcrib check`` without a folder, and S3's script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib.interfaces.cli.crib_check import check_crib
from toolcrib.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "validate_tool_chain.py"
SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

TOOL = """
from src.tools.base import ActionDef, BaseTool, ToolResult, ToolResultStatus


class {kind}(BaseTool):
    name = "{name}"
    title = "{name}"
    description = "发送文件"
    intents = {{"communication": "recommended"}}

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef(name="send_file", description="发送文件。", parameters={{}}, required_params=[])]

    async def execute(self, action: str, params: dict) -> ToolResult:
        return ToolResult(status=ToolResultStatus.SUCCESS)
"""
TOOLS = {"wechat": "WechatTool", "remote_file_share": "RemoteFileShareTool"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as S3 describes one: src/tools and config/tools.json."""
    (tmp_path / "src" / "tools").mkdir(parents=True)
    (tmp_path / "config").mkdir()
    entries = {}
    for name, kind in TOOLS.items():
        (tmp_path / "src" / "tools" / f"{name}.py").write_text(TOOL.format(kind=kind, name=name), encoding="utf-8")
        entries[name] = {"module": f"src.tools.{name}", "class": kind, "actions": ["send_file"]}
    (tmp_path / "config" / "tools.json").write_text(json.dumps(entries, indent=1), encoding="utf-8")
    return tmp_path


def run(project: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    environment = os.environ | {"TOOLCRIB_HOME": str(project / "home"), "TOOLCRIB_PROJECT": str(project)}
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=30 * SLACK
    )


def test_FIRST_ACTION_19_the_script_prints_seven_marks_for_s3s_own_project(project: Path) -> None:
    finished = run(project, "config/tools.json")
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert lines[:4] == ["=" * 60, "WinClaw 工具全链路一致性校验", "=" * 60, "已加载 tools.json: 2 个启用工具"]
    assert lines[5] == "  ✅ [1/7] INTENT_TOOL_MAPPING 覆盖: 2 工具"
    assert sum(line.startswith("  ✅") for line in lines) == 7
    assert lines[-2:] == ["结果: 7 通过, 0 警告, 0 失败", "=" * 60]


def test_FIRST_ACTION_19_without_a_mapping_the_script_exits_with_1(project: Path) -> None:
    module = project / "src" / "tools" / "wechat.py"
    module.write_text(module.read_text(encoding="utf-8").replace("    intents = ", "    other = "), encoding="utf-8")
    finished = run(project, "config/tools.json")
    assert finished.returncode == 1
    assert "  ❌ [1/7] INTENT_TOOL_MAPPING 覆盖: 1 个问题\n" in finished.stdout
    assert "结果: 6 通过, 0 警告, 1 失败" in finished.stdout


def test_W027_the_script_checks_tables_that_are_kept_by_hand(project: Path) -> None:
    for name in TOOLS:
        module = project / "src" / "tools" / f"{name}.py"
        module.write_text(
            module.read_text(encoding="utf-8").replace("    intents = ", "    other = "), encoding="utf-8"
        )
    tables = """
INTENT_CATEGORIES = {"communication": ["发送文件"]}
INTENT_TOOL_MAPPING = {"communication": ["wechat", "remote_file_share"]}
INTENT_PRIORITY_MAP = {"communication": {"recommended": ["wechat"], "alternative": ["gone"]}}
"""
    (project / "our_prompts.py").write_text(tables, encoding="utf-8")
    finished = run(project, "config/tools.json", "--tables", "our_prompts")
    assert finished.returncode == 1
    assert "✅ [1/7]" in finished.stdout
    assert "❌ [3/7]" in finished.stdout
    assert "✅ [7/7] 三表 key 对齐: 1 个意图" in finished.stdout


def test_W027_the_script_checks_the_crib_where_no_file_is_named(project: Path) -> None:
    finished = run(project)
    assert finished.returncode == 0, finished.stderr
    assert "结果: 7 通过, 0 警告, 0 失败" in finished.stdout


@pytest.mark.parametrize(("content", "said"), [("{", "tools.json:1"), ('{"x": {"module": "os", "class": "X"}}', "os")])
def test_W027_what_cannot_be_read_fails(project: Path, content: str, said: str) -> None:
    (project / "config" / "tools.json").write_text(content, encoding="utf-8")
    finished = run(project, "config/tools.json")
    assert finished.returncode == 1
    assert said in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr
    assert run(project, "none.json").returncode == 2


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An empty project beside the shipped tools."""
    return Settings(project=tmp_path, home=tmp_path / "home", watch=False)


def test_W027_the_shipped_crib_passes(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_crib(settings)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" tools")
    assert sum(line.startswith("  ✅") for line in lines) == 19
    assert lines[-1] == "Result: 19 passed, 0 warned, 0 failed"
    assert check_crib(settings, language="zh")
    assert capsys.readouterr().out.endswith("结果: 19 通过, 0 警告, 0 失败\n")


def test_W027_a_fix_says_what_it_changed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    path = settings.project / "intents.json"
    keywords: dict[str, Any] = {"image_creation": {"keywords": {"zh": ["涂鸦", "涂鸦"]}}}
    path.write_text(json.dumps(keywords), encoding="utf-8")
    assert check_crib(settings, as_json=True)
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["warnings"], report["checks"][13]["findings"][0]["fixable"]) == (True, 1, True)
    assert check_crib(settings, fix=True)
    said = f"🔧 {path}: took double keywords out of image_creation.keywords.zh"
    assert capsys.readouterr().out.splitlines()[0] == said
    assert json.loads(path.read_text(encoding="utf-8")) == {"image_creation": {"keywords": {"zh": ["涂鸦"]}}}
    assert check_crib(settings, fix=True, as_json=True)
    assert json.loads(capsys.readouterr().out)["fixes"] == []
