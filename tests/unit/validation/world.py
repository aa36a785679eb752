"""A project in which every check passes, and which the tests break in one place each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolcrib.crib import Crib
from toolcrib.exposure.intent_data import load_intents
from toolcrib.registry.sources.files import ToolFiles
from toolcrib.registry.sources.tools_json import ToolsJson
from toolcrib.validation.chain import CHECKS, Check, examine_chain
from toolcrib.validation.chain_findings import Outcome
from toolcrib.validation.subject import Subject

SOURCE = Path(__file__).with_name("s3_tools.py").read_text(encoding="utf-8")

Json = dict[str, Any]


def listed(package: str, kind: str, name: str, **fields: Any) -> Json:
    """A complete entry of ``tools.json``."""
    return {
        "enabled": True,
        "module": f"{package}.s3_tools",
        "class": kind,
        "display": {"name": name, "emoji": "📤", "description": name, "category": "communication"},
        "config": {},
        "security": {"require_confirmation": False},
        **fields,
    }


def remote(tool_id: str, zh: str, en: str) -> Json:
    """A complete entry of ``registry.json``."""
    return {
        "tool_id": tool_id,
        "name": {"zh": zh, "en": en},
        "description": {"zh": f"{zh}。", "en": f"{en}."},
        "backend_runtime": "remote",
        "url": "https://api.example.com",
        "effects": "external",
        "risk": "medium",
        "intents": {"image_creation": "recommended"},
        "examples": [zh, en],
        "input_schema": {"type": "object", "properties": {"size": {"type": "integer", "description": "Of it."}}},
    }


class World:
    """The files of the project; `change` one, then `examine`."""

    def __init__(self, root: Path, package: str) -> None:
        self.root = root
        self.package = package
        self.code = root / package / "s3_tools.py"
        self.tools = root / "tools.json"
        self.registry = root / "registry.json"
        self.intents = root / "intents.json"
        self.code.parent.mkdir()
        (self.code.parent / "__init__.py").touch()
        self.code.write_text(SOURCE, encoding="utf-8")
        share = ["send_file", "send_files", "send_voice"]
        self._write(
            self.tools,
            {
                "wechat": listed(package, "WechatTool", "微信", actions=["send"]),
                "remote_file_share": listed(package, "RemoteFileShareTool", "远程文件分享", actions=share),
            },
        )
        names = ["rent_machine", "return_machine"]
        group = {
            "group_id": "machines",
            "name": {"zh": "机器", "en": "Machines"},
            "description": {"zh": "先租后还", "en": "Rent, then return"},
            "backend_runtime": "remote",
            "tool_ids": names,
            "usage_order": names,
        }
        tools = [
            remote(names[0], "租一台画图机器", "Rent a drawing machine"),
            remote(names[1], "归还机器", "Return it"),
        ]
        self._write(self.registry, {"version": 1, "groups": [group], "tools": tools})
        self._write(self.intents, {"communication": {"keywords": {"zh": ["甩到手机", "丢给手机"]}}})

    def change(self, path: Path, change: Callable[[Json], object]) -> None:
        """Change a JSON file."""
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        self._write(path, document)

    def edit(self, old: str, new: str) -> None:
        """Change the code, in one place."""
        source = self.code.read_text(encoding="utf-8")
        assert old in source
        self.code.write_text(source.replace(old, new, 1), encoding="utf-8")

    def line(self, path: Path, text: str) -> int:
        """The line of a file that holds ``text`` first."""
        return next(
            number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text in line
        )

    async def subject(self, **options: Any) -> Subject:
        """The project, freshly loaded."""
        files = ToolFiles([self.root / "tools" / "local"], [self.registry])
        crib = Crib(sources=[ToolsJson(self.tools, modules=[self.package]), files])
        await crib.reload()
        for extra in options.pop("extra", ()):
            crib.registry.register(extra)
        intents = load_intents([self.intents])
        return Subject(crib.registry, sources=crib.sources, problems=crib.problems, intents=intents, **options)

    async def examine(self, checks: tuple[Check, ...] = CHECKS, **options: Any) -> dict[str, Outcome]:
        """The outcomes by check."""
        return {outcome.check: outcome for outcome in examine_chain(await self.subject(**options), checks)}

    def _write(self, path: Path, document: Json) -> None:
        path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
