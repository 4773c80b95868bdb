"""Where `write_sql` writes: its options, and the arguments that it hands to a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from .dtype import Dtypes
from .query import ProgressOption

#: What happens if the table exists, and if it does not.
IfExists: TypeAlias = Literal["fail", "append", "replace", "create_append", "truncate", "upsert"]


class AppendOptions(TypedDict, total=False):
    """The options of an append, whose schema is an argument, and whose parts are checked one by one."""

    if_exists: IfExists
    key: Sequence[str] | None
    temporary: bool
    dtype: Dtypes | None
    progress: ProgressOption


class WriteOptions(AppendOptions, total=False):
    """The options of a write, which `write_sql` explains."""

    schema: str | None
    index: bool | None


#: The names of all options of a write.
NAMES = tuple({**AppendOptions.__annotations__, **WriteOptions.__annotations__})
#: Those of an append.
APPEND_NAMES = (*AppendOptions.__annotations__, "schema")


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
