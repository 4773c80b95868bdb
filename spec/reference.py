"""Colonnade's reference reader: decodes streams, checks the vectors, annotates bytes. It needs only Python 3.11.
Streams compressed with Zstandard need Python 3.14 or the package `zstandard`.

    python spec/reference.py spec/vectors              check every vector
    python spec/reference.py --show FILE               the logical value of a stream (.hex, or raw bytes), as JSON
    python spec/reference.py --annotate FILE           a raw stream as annotated hexadecimal text
    python spec/reference.py --import FILE.bin… DIR    raw streams and their .json as vectors in DIR
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from reader.annotate import annotate_raw, parse_hex
from reader.check import check_folder
from reader.errors import FormatError
from reader.stream import Limits, read_stream


def load(path: Path) -> bytes:
    return parse_hex(path.read_text("utf-8")) if path.suffix == ".hex" else path.read_bytes()


def to_text(value: dict) -> str:
    """The canonical JSON, with one line for each field and each column."""
    one = {"metadata", "rows", "chunks"}
    parts = []
    for key, item in value.items():
        if key in one:
            parts.append(f" {json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}")
        else:
            lines = ",\n".join(f"  {json.dumps(x, ensure_ascii=False)}" for x in item)
            parts.append(f" {json.dumps(key)}: [" + (f"\n{lines}\n ]" if item else "]"))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def import_vectors(files: list[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / f"{file.stem}.hex").write_text(annotate_raw(file.read_bytes()), "utf-8")
        shutil.copyfile(file.with_suffix(".json"), folder / f"{file.stem}.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--show", action="store_true")
    mode.add_argument("--annotate", action="store_true")
    mode.add_argument("--import", action="store_true", dest="import_")
    parser.add_argument("--max-decoded", type=int, default=Limits.decoded_bytes, metavar="BYTES", help="for --show")
    arguments = parser.parse_args()
    try:
        if arguments.import_:
            import_vectors(arguments.paths[:-1], arguments.paths[-1])
        elif arguments.show or arguments.annotate:
            for path in arguments.paths:
                limits = Limits(decoded_bytes=arguments.max_decoded)
                data = load(path)
                text = annotate_raw(data) if arguments.annotate else to_text(read_stream(data, limits).to_json())
                sys.stdout.write(text)
        else:
            return 0 if all(check_folder(path) for path in arguments.paths) else 1
    except FormatError as error:
        print(f"{error.kind.value}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
