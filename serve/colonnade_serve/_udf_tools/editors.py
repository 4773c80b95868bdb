"""Configurations by which editors run and debug functions with `colonnade udf debug`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr, unescape

from colonnade._files import write_text

from . import folder

if TYPE_CHECKING:
    from .settings import Project

#: What this module writes begins so, and nothing else is replaced.
PREFIX = "colonnade: "

PYCHARM = """<component name="ProjectRunConfigurationManager">
  <configuration default="false" name={name} type="PythonConfigurationType" factoryName="Python">
    <option name="WORKING_DIRECTORY" value="$PROJECT_DIR$" />
    <option name="IS_MODULE_SDK" value="true" />
    <option name="MODULE_MODE" value="true" />
    <option name="SCRIPT_NAME" value="colonnade" />
    <option name="PARAMETERS" value={parameters} />
    <option name="EMULATE_TERMINAL" value="false" />
    <envs>
      <env name="COLONNADE_UDF" value={mark} />
    </envs>
    <method v="2" />
  </configuration>
</component>
"""


#: By which PyCharm's configurations of this module are known. PyCharm keeps it when it writes a file again.
MARK = re.compile(r'<env name="COLONNADE_UDF" value=("[^"<>]*"|\'[^\'<>]*\') />')


def write(editor: str, project: Project) -> list[Path]:
    """Write a configuration for each file of the project's folder. Returns the files that were written."""
    paths = [one.path for one in folder.read(project.folder)]
    if editor == "vscode":
        return vscode(project.root, paths)
    written = pycharm(project.root, paths)
    remove_pycharm(project)
    return written


def arguments(path: Path, root: Path) -> list[str]:
    """What follows `python -m colonnade`. The inputs are those that were saved last."""
    return ["udf", "run", shown(path, root)]


def shown(path: Path, root: Path) -> str:
    full = path.resolve()
    return str(full.relative_to(root.resolve())) if full.is_relative_to(root.resolve()) else str(full)


def pycharm(root: Path, paths: list[Path]) -> list[Path]:
    target = root / ".idea" / "runConfigurations"
    written = []
    for path in paths:
        name = f"{PREFIX}{path.parent.name}.{path.stem}"
        parameters = " ".join(quoted(argument) for argument in arguments(path, root))
        file = target / pycharm_name(path)
        attributes = {"name": name, "parameters": parameters, "mark": shown(path, root)}
        text = PYCHARM.format(**{key: quoteattr(value) for key, value in attributes.items()})
        write_text(file, text, below=root)
        written.append(file)
    return written


def pycharm_name(path: Path) -> str:
    return f"colonnade_{path.parent.name}_{path.stem}.xml"


def remove_pycharm(project: Project) -> None:
    """Remove the configurations of files of the project's folder that do not exist. Of others, such as a copy that
    somebody has made in PyCharm, the mark names another configuration."""
    for file in (project.root / ".idea" / "runConfigurations").glob("colonnade_*.xml"):
        try:
            found = MARK.search(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if found is None:
            continue
        path = project.root / unescape(found[1][1:-1], {"&quot;": '"', "&apos;": "'"})
        is_ours = path.resolve().is_relative_to(project.folder.resolve())
        if is_ours and file.name == pycharm_name(path) and not path.exists():
            file.unlink()


def quoted(argument: str) -> str:
    """An argument as PyCharm splits it."""
    return '"' + argument.replace('"', '\\"') + '"' if " " in argument or '"' in argument else argument


def vscode(root: Path, paths: list[Path]) -> list[Path]:
    file = root / ".vscode" / "launch.json"
    known: dict[str, Any] = {"version": "0.2.0", "configurations": []}
    if file.is_file():
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            others = [one for one in known["configurations"] if not str(one.get("name", "")).startswith(PREFIX)]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{file} is no JSON with configurations; if it has comments, remove them") from None
        known["configurations"] = others
    for path in paths:
        configuration = {
            "name": f"{PREFIX}{path.parent.name}.{path.stem}",
            "type": "debugpy",
            "request": "launch",
            "module": "colonnade",
            "args": arguments(path, root),
            "cwd": "${workspaceFolder}",
            "justMyCode": True,
        }
        known["configurations"].append(configuration)
    write_text(file, json.dumps(known, indent=2) + "\n", below=root)
    return [file]
