"""Checks a folder of vectors: the meaning of good ones, the error of bad ones, and that damage is found."""

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from .annotate import parse_hex
from .errors import FormatError, Kind
from .logical import normalise
from .stream import read_stream

EVERY_BYTE_UP_TO = 4096  # longer streams are damaged at this many evenly spread positions
TWO_CHANGES_UP_TO = 1024


def canonical(value: dict) -> str:
    """The same text for equal logical values, and different texts for 1, true and "1"."""
    fields = value["schema"]
    columns = [[normalise(f, v) for v in column] for f, column in zip(fields, value["columns"], strict=True)]
    return json.dumps({**value, "columns": columns}, sort_keys=True, ensure_ascii=False)


def positions(length: int) -> range:
    return range(0, length, max(1, -(-length // EVERY_BYTE_UP_TO)))


def check_good(path: Path) -> str | None:
    """The vector's problem, or None."""
    data = parse_hex(path.read_text("utf-8"))
    try:
        got = read_stream(data).to_json()
    except FormatError as error:
        return f"{error.kind.value}: {error}"
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    if canonical(got) != canonical(expected):
        return "the decoded value differs from the .json"
    for size in positions(len(data)):
        if not refused(data[:size]):
            return f"its first {size} bytes are accepted"
    damaged = bytearray(data)
    for at in positions(len(data)):
        for change in (0xFF, 1 << at % 8) if len(data) <= TWO_CHANGES_UP_TO else (1 << at % 8,):
            damaged[at] ^= change
            if not refused(bytes(damaged)):
                return f"byte {at} changed by {change:#04x} is accepted"
            damaged[at] ^= change
    return None


def refused(data: bytes) -> bool:
    try:
        read_stream(data)
    except FormatError as error:
        return error.kind is not Kind.UNAVAILABLE
    return False


def check_bad(path: Path) -> str | None:
    text = path.read_text("utf-8")
    first = text.splitlines()[0] if text else ""
    if not first.startswith("# error: "):
        return "the first line is not '# error: KIND'"
    expected = first.removeprefix("# error: ").strip()
    if expected not in {kind.value for kind in Kind}:
        return f"unknown kind of error {expected!r}"
    try:
        read_stream(parse_hex(text))
    except FormatError as error:
        if error.kind.value != expected:
            return f"refused as {error.kind.value!r}, not {expected!r}: {error}"
        return None
    return f"accepted, but should be refused: {expected}"


def check_one(path: Path) -> tuple[Path, str | None]:
    try:
        return path, check_good(path) if path.parent.name == "good" else check_bad(path)
    except (ValueError, KeyError, OSError) as error:  # the vector does not have the form of vectors/README.md
        return path, f"{type(error).__name__}: {error}"


def check_folder(folder: Path) -> bool:
    """Prints one line for each vector and a summary; true if all passed."""
    paths = [*sorted(folder.glob("good/*.hex")), *sorted(folder.glob("bad/*.hex"))]
    orphans = [p for p in folder.glob("good/*.json") if not p.with_suffix(".hex").exists()]
    failed = 0
    with ProcessPoolExecutor() as pool:
        for path, problem in [*pool.map(check_one, paths), *((p, "the .hex file is missing") for p in orphans)]:
            failed += problem is not None
            print(f"{'ok    ' if problem is None else 'FAILED'} {path.parent.name}/{path.stem}", end="")
            print("" if problem is None else f": {problem}")
    passed = len(paths) + len(orphans) - failed
    print(f"{passed} passed, {failed} failed")
    return passed > 0 and failed == 0
