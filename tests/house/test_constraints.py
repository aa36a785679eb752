"""``constraints.txt`` names what the environment holds, by name and version alone."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tests.house.tree import ROOT

LINES = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
CONSTRAINT = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[0-9][0-9a-z.+!]*)( ; [A-Za-z0-9_' =<>!.()-]+)?")
BROUGHT_BY_VENV = {"pip", "setuptools", "toolcrib"}
REMEDY = "make constraints.txt anew with the command in its first line"
IN_OUR_ENVIRONMENT = Path(sys.prefix) == ROOT / ".venv"


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("line", LINES)
def test_a_constraint_is_a_name_and_a_version(line: str) -> None:
    assert CONSTRAINT.fullmatch(line.replace('"', "'")), "no hash, address or path belongs here"


def test_the_constraints_are_sorted_and_name_no_address() -> None:
    names = [line.partition("==")[0] for line in LINES]
    assert names == sorted(names)
    assert "//" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_every_requirement_of_the_project_has_its_constraint() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    asked = {
        normal(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in sum(lists, project["dependency-groups"]["dev"])
    }
    held = {line.partition("==")[0] for line in LINES}
    assert asked - held - {"toolcrib"} == set(), REMEDY


@pytest.mark.skipif(not IN_OUR_ENVIRONMENT, reason="speaks of the environment that scripts/test makes")
def test_every_installed_distribution_has_its_constraint() -> None:
    held = {match["name"]: match["version"] for line in LINES if (match := CONSTRAINT.match(line))}
    installed = {normal(each.metadata["Name"]): each.version for each in metadata.distributions(path=[*site()])}
    differing = {
        name: version
        for name, version in installed.items()
        if name not in BROUGHT_BY_VENV and held.get(name) != version
    }
    assert differing == {}, REMEDY


def site() -> list[str]:
    """Where the environment keeps its own packages."""
    return [path for path in sys.path if path.startswith(sys.prefix)]
