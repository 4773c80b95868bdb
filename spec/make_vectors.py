"""Writes the good and bad vectors that do not come from the Rust encoder.

    python spec/make_vectors.py spec/vectors

Its encoder is as simple as possible and shares nothing with `core/wire/`. The cases are in
`writer/cases*.py` and `writer/bad*.py`.
"""

import json
import sys
from pathlib import Path

from reader.annotate import annotate_raw
from reference import to_text
from writer.bad import bad_vectors
from writer.cases import all_cases


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    for kind in ("good", "bad"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for case in all_cases():
        (folder / "good" / f"{case.name}.hex").write_text(annotate_raw(case.stream()), "utf-8")
        (folder / "good" / f"{case.name}.json").write_text(to_text(json.loads(json.dumps(case.value()))), "utf-8")
    for name, kind, why, stream in bad_vectors():
        text = f"# error: {kind}\n# {why}\n" + annotate_raw(stream)
        (folder / "bad" / f"{name}.hex").write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
