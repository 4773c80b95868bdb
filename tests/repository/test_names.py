"""One name for one thing: no two public types of the Rust workspace share a name without a reason."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]

PUBLIC_TYPE = re.compile(r"^\s*pub (?:unsafe )?(?:struct|enum|union|trait|type) (\w+)", re.MULTILINE)

#: The names that several crates use, each with its crates and the reason.
SHARED = {
    # A text with the values that its source binds; a text with its kind.
    "Statement": {"client", "core/sql"},
    # The next three: those of `core/budget` with the server's error.
    "Budget": {"core/budget", "serve/protocol"},
    "Charge": {"core/budget", "serve/protocol"},
    "Charged": {"core/budget", "serve/protocol"},
    # The next four: `bench/wire` measures more than the format has, and no crate depends on it.
    "Codec": {"bench/wire", "core/wire"},
    "Layout": {"bench/wire", "core/wire"},
    "Report": {"bench/wire", "serve/protocol"},
    "Rows": {"bench/wire", "serve/protocol"},
}


def public_types() -> dict[str, list[str]]:
    """The crates that declare a public type of each name: a crate that declares two is there twice."""
    found = defaultdict[str, list[str]](list)
    crates = [path.parent for path in [*ROOT.glob("*/Cargo.toml"), *ROOT.glob("*/*/Cargo.toml")]]
    for crate in sorted(crates):
        for file in (crate / "src").rglob("*.rs"):
            for name in PUBLIC_TYPE.findall(file.read_text()):
                found[name].append(crate.relative_to(ROOT).as_posix())
    return found


def test_no_two_public_types_share_a_name() -> None:
    found = public_types()
    assert len(found) > 200
    assert {name: sorted(crates) for name, crates in found.items() if len(crates) > 1} == {
        name: sorted(crates) for name, crates in SHARED.items()
    }
