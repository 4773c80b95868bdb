"""Writes tests/fuzz/words.txt: the keywords, functions and types of the DuckDB that the tests use.

    .venv/bin/python tests/fuzz/words.py

The fuzz target `statement` makes its statements of these words. tests/attacks/test_catalog.py fails where the
file is not what this script writes.
"""

from pathlib import Path

import duckdb

FILE = Path(__file__).with_name("words.txt")
SECTIONS = {
    "keywords": "lower(keyword_name) from duckdb_keywords()",
    "functions": "lower(function_name) from duckdb_functions() where database_name = 'system'",
    "types": "lower(type_name) from duckdb_types() where database_name = 'system'",
}


def words() -> str:
    lines = [f"# Of DuckDB {duckdb.__version__}. Written by tests/fuzz/words.py; do not edit."]
    with duckdb.connect() as connection:
        for section, query in SECTIONS.items():
            lines += [
                "",
                f"[{section}]",
                *(name for (name,) in connection.execute(f"select distinct {query} order by 1").fetchall()),
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(words(), "utf-8")
