"""The extension for VS Code: its lists of contents, its dependencies, and that what it declares exists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from colonnade._cli.main import parser

from tools.release import versions, vsix

ROOT = Path(__file__).parents[2]
SPACE = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
PACKAGE: dict[str, Any] = json.loads((vsix.SOURCE / "package.json").read_text())
SOURCES = "\n".join(path.read_text() for path in sorted((vsix.SOURCE / "src").glob("*.ts")))


def test_the_manifest_is_that_of_the_package() -> None:
    root = ElementTree.fromstring(vsix.manifest(PACKAGE | {"version": versions.current(ROOT)}))
    identity = root.find(f"{SPACE}Metadata/{SPACE}Identity")
    assert identity is not None
    assert (identity.get("Publisher"), identity.get("Id")) == (PACKAGE["publisher"], PACKAGE["name"])
    assert vsix.name() == f"colonnade-vscode-{identity.get('Version')}.vsix"
    assets = [asset.get("Path") for asset in root.iter(f"{SPACE}Asset")]
    assert "extension/package.json" in assets
    types = ElementTree.fromstring(vsix.content_types(["a.json", "b/c.js", "d.vsixmanifest"]))
    assert {one.get("Extension") for one in types} == {".json", ".js", ".vsixmanifest"}


@pytest.mark.parametrize("folder", ["tools/vscode", "tests/editor"])
def test_packages_are_pinned_and_come_from_where_npm_is_set_to(folder: str) -> None:
    package = json.loads((ROOT / folder / "package.json").read_text())
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    assert "dependencies" not in package
    for name, version in package["devDependencies"].items():
        assert lock[f"node_modules/{name}"]["version"] == version
    assert not [name for name, one in lock.items() if "resolved" in one]
    assert all(one.get("integrity") for name, one in lock.items() if name)


def test_commands_and_settings_are_those_of_the_code() -> None:
    registered = re.findall(r"^        (\w+): (?:async )?\(", SOURCES, re.MULTILINE)
    declared = [one["command"].removeprefix("colonnade.") for one in PACKAGE["contributes"]["commands"]]
    assert sorted(declared) == sorted(name for name in registered if name in declared)
    used = {one["command"] for menu in PACKAGE["contributes"]["menus"].values() for one in menu}
    assert used <= {f"colonnade.{name}" for name in declared}
    settings = set(PACKAGE["contributes"]["configuration"]["properties"])
    read = re.findall(r'(?:text\(settings, |settings\.get<[^>]*>\()"(\w+)"', SOURCES)
    assert settings == {f"colonnade.{name}" for name in read}


def test_the_command_line_has_the_options_that_the_extension_passes() -> None:
    options = set(re.findall(r'[`"](--[a-z-]+)[=`"]', SOURCES))
    assert {"--sql", "--sample", "--compression", "--key-file", "--uncaught", "--force"} <= options
    values = {"--sample": "=1", "--call": "=1", "--seed": "=1"}
    for option in sorted(options - {"--"}):
        is_of_files = option in ("--force", "--dir")
        action = "push" if is_of_files else "run"
        takes_value = f"{option}=" in SOURCES
        given = f"{option}{values.get(option, '=x')}" if takes_value else option
        more = ["--sql=x"] if option in ("--call", "--sample", "--groups", "--seed", "--compression") else []
        parser().parse_args(["udf", action, given, *more, "--", "name"])
