"""The parameters and options of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from .dtype import Dtypes

#: Values for `$1`, `$2`, …, or for `$name`.
Params = Sequence[Any] | Mapping[str, Any]


class QueryOptions(TypedDict, total=False):
    """The options of a query, which `Connection.query` explains."""

    compression: str | None
    chunk_rows: int | None
    chunk_bytes: int | None
    max_message_bytes: int | None
    max_result_bytes: int | None
    numeric: tuple[int, int] | None
    as_text: Sequence[str] | None
    parallel: str | None
    dtype: Dtypes | None


#: The options' names.
NAMES = tuple(QueryOptions.__annotations__)
