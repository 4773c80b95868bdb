"""`colonnade adbc`: lets ADBC's driver managers, of any language, find the driver by the name `colonnade`.

A manager looks for a manifest, `NAME.toml`, in the folders of ADBC_DRIVER_PATH, then in the user's folder, then in the
system's, in whose place Windows has its registry. The manifest names the driver's library.
(https://arrow.apache.org/adbc/current/format/driver_manifests.html)
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._files import write_text
from colonnade._system import drivers

from .terminal import say, tell

if TYPE_CHECKING:
    import argparse

NAME = "colonnade"
MANIFEST = f"{NAME}.toml"
#: The folder for all users; None where it is the registry.
SYSTEM = drivers.system_folder()
#: The driver's function that a manager calls first (`client/adbc/src/exported.rs`).
ENTRYPOINT = "AdbcDriverColonnadeInit"


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `adbc`."""
    summary = "make the ADBC driver known to the driver managers of all languages"
    parser = subparsers.add_parser("adbc", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    installing = 'write the driver\'s manifest, so that driver managers find the driver by the name "colonnade"'
    install = actions.add_parser("install", help=installing, description=installing[0].upper() + installing[1:] + ".")
    library = "the driver's library (default: that of the package adbc-driver-colonnade)"
    install.add_argument("--library", metavar="PATH", type=Path, help=library)
    install.set_defaults(run=run_install)

    uninstall = actions.add_parser("uninstall", help="remove the driver's manifest")
    uninstall.set_defaults(run=run_uninstall)

    show = actions.add_parser("show", help="list the folders of manifests, and the library that each names")
    show.set_defaults(run=run_show)

    for action in (install, uninstall):
        place = action.add_mutually_exclusive_group()
        place.add_argument("--user", action="store_true", help="for this user (default)")
        place.add_argument("--system", action="store_true", help="for all users of the machine")


def run_install(args: argparse.Namespace) -> int:
    library = checked(args.library if args.library is not None else packaged_library())
    place = folder(args)
    if place is None:
        drivers.register(NAME, "Colonnade", library, ENTRYPOINT)
        tell(f"wrote {drivers.registry_key(NAME)} for {library}")
        return 0
    manifest = place / MANIFEST
    manifest.parent.mkdir(parents=True, exist_ok=True)
    write_text(manifest, written(library))
    tell(f"wrote {manifest} for {library}")
    return 0


def run_uninstall(args: argparse.Namespace) -> int:
    place = folder(args)
    shown = drivers.registry_key(NAME) if place is None else place / MANIFEST
    try:
        if place is None:
            drivers.unregister(NAME)
        else:
            (place / MANIFEST).unlink()
    except FileNotFoundError:
        raise ValueError(f"there is no {shown}") from None
    tell(f"removed {shown}")
    return 0


def run_show(_: argparse.Namespace) -> int:
    given = [Path(path) for path in os.environ.get("ADBC_DRIVER_PATH", "").split(drivers.SEPARATOR) if path]
    places = [*(("ADBC_DRIVER_PATH", path) for path in given), ("user", drivers.user_folder()), ("system", SYSTEM)]
    for name, path in places:
        if path is None:
            say(f"{name}\t{drivers.registry_key(NAME)}\t{drivers.registered(NAME)}")
        else:
            say(f"{name}\t{path}\t{library_of(path / MANIFEST)}")
    return 0


def folder(args: argparse.Namespace) -> Path | None:
    """The folder of the manifest; None if the registry takes its place."""
    return SYSTEM if args.system else drivers.user_folder()


def packaged_library() -> Path:
    """The library of the installed package."""
    try:
        return importlib.import_module("adbc_driver_colonnade").driver_path()
    except ModuleNotFoundError as error:
        if error.name != "adbc_driver_colonnade":
            raise
        message = "the package adbc-driver-colonnade is not installed: install it, or name the driver with --library"
        raise ImportError(message) from None


def checked(library: Path) -> Path:
    """The library's absolute path. Another library under the driver's name would be an error in other programs."""
    library = library.resolve(strict=True)
    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        raise ValueError(f"{library} is not a library: {error}") from None
    if not hasattr(loaded, ENTRYPOINT):
        raise ValueError(f"{library} is not Colonnade's ADBC driver: it has no function {ENTRYPOINT}")
    return library


def written(library: Path) -> str:
    """The manifest. A string of JSON is one of TOML, except for the character U+007F."""
    path = json.dumps(str(library), ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"""\
manifest_version = 1
name = "Colonnade"
publisher = "Colonnade"
license = "Apache-2.0"

[ADBC]
version = "1.1.0"

[Driver]
entrypoint = "{ENTRYPOINT}"
shared = {path}
"""


def library_of(manifest: Path) -> str:
    """The library that a manifest names, empty if there is no manifest."""
    try:
        shared = tomllib.loads(manifest.read_text(encoding="utf-8"))["Driver"]["shared"]
    except FileNotFoundError:
        return ""
    except (ValueError, KeyError, TypeError):
        return "(not a driver manifest)"
    # A manifest of another tool may have a path for each kind of machine.
    return ", ".join(map(str, shared.values())) if isinstance(shared, dict) else str(shared)
