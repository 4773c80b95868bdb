"""`pg/META.json`, which describes the extension to the PostgreSQL Extension Network, against its specification
(https://pgxn.org/meta/spec.txt, version 1.0.0) and against the other places that say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tools.release import versions

ROOT = Path(__file__).parents[2]
META = json.loads((ROOT / "pg/META.json").read_text())

#: "Required Fields" and "Optional Fields".
REQUIRED = {"abstract", "maintainer", "license", "provides", "name", "version", "meta-spec"}
OPTIONAL = {"description", "generated_by", "tags", "no_index", "prereqs", "release_status", "resources"}
#: "license": some of the strings that it allows, and what Cargo calls them.
LICENCES = {"apache_2_0": "Apache-2.0", "mit": "MIT", "bsd": "BSD-3-Clause", "postgresql": "PostgreSQL"}
#: "Version Numbers": semantic versions.
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
#: "Terms": no control characters, slashes and blanks, and at least two characters.
TERM = re.compile(r"[^\s/\\\x00-\x1f]{2,}")


def check(meta: dict[str, Any]) -> None:
    """Raises an AssertionError if this does not follow the specification."""
    assert meta.keys() >= REQUIRED
    assert {key for key in meta if not key.lower().startswith("x_")} <= REQUIRED | OPTIONAL
    assert TERM.fullmatch(meta["name"]) and VERSION.fullmatch(meta["version"])
    assert meta["abstract"] and re.search(r"\S+ <\S+@\S+>", meta["maintainer"])
    assert meta["license"] in LICENCES
    assert meta["meta-spec"]["version"] == "1.0.0"
    assert meta["provides"]
    for name, extension in meta["provides"].items():
        assert TERM.fullmatch(name) and VERSION.fullmatch(extension["version"])
        assert extension.keys() >= {"file", "version"} and extension.keys() <= {
            "abstract",
            "file",
            "docfile",
            "version",
        }
    for phase, relations in meta.get("prereqs", {}).items():
        assert phase in {"configure", "runtime", "build", "test", "develop"}
        for kind, needed in relations.items():
            assert kind in {"requires", "recommends", "suggests", "conflicts"}
            assert all(VERSION.fullmatch(version) for version in needed.values())
    resources = meta.get("resources", {})
    assert resources.keys() <= {"homepage", "bugtracker", "repository"}
    found = [resources.get("homepage"), resources.get("bugtracker", {}).get("web"), resources["repository"].get("web")]
    assert all(urlsplit(address).scheme == "https" for address in found if address)
    assert all(TERM.fullmatch(tag) and len(tag) <= 255 for tag in meta.get("tags", []))


def test_it_follows_the_specification() -> None:
    check(META)


@pytest.mark.parametrize(
    "change", [{"version": "1.0"}, {"license": "Apache-2.0"}, {"provides": {}}, {"maintainer": "nobody"}, {"other": 1}]
)
def test_what_does_not_follow_it_is_found(change: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check(META | change)


def test_it_says_what_the_other_places_say() -> None:
    current = versions.current(ROOT)
    [(name, extension)] = META["provides"].items()
    assert (META["version"], extension["version"]) == (current, current)
    control = (ROOT / "pg/colonnade.control").read_text()
    assert f"comment = '{META['abstract']}'" in control and f"default_version = '{current}'" in control
    assert name == "colonnade" and extension["file"] == f"colonnade--{current}.sql"
    assert all((ROOT / "pg" / extension[key]).is_file() for key in ("file", "docfile"))
    cargo = (ROOT / "Cargo.toml").read_text()
    assert f'license = "{LICENCES[META["license"]]}"' in cargo
    assert f'repository = "{META["resources"]["homepage"]}"' in cargo
