"""Where `write_sql` writes: the arguments that it hands to a source."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

#: What happens if the table exists, and if it does not.
IfExists: TypeAlias = Literal["fail", "append", "replace", "create_append", "truncate", "upsert"]


class WriteTarget(TypedDict):
    """A table, and what happens to it. Names are exact: no folding, no pattern, no dots with a meaning."""

    #: None is the schema in which the database finds or creates the table.
    schema: str | None
    table: str
    if_exists: IfExists
    #: The columns that identify a row. It is empty except for `"upsert"`.
    key: list[str]
    #: Whether a new table ends with the session, and is seen by no other one.
    temporary: bool
