"""Checks of arguments, before anything is connected to."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any


def _is_whole(value: Any) -> bool:
    """Whether it is an integer of Python or NumPy."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_several(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return _is_several(value) and all(map(_is_text, value))


def _is_text_or_texts(value: Any) -> bool:
    return _is_text(value) or _is_texts(value)


def _is_positive(value: Any) -> bool:
    return _is_whole(value) and 0 < value.__index__() < 1 << 63


def _is_columns(value: Any) -> bool:
    """Whether it names columns, at least one. It may be an index of pandas."""
    return isinstance(value, Collection) and not _is_text(value) and len(value) > 0 and all(map(_is_text, value))


def _is_dates(value: Any) -> bool:
    """Whether it can be `parse_dates`: a truth value, columns, or columns with a format, a unit or arguments."""
    if isinstance(value, Mapping):
        return all(how is None or isinstance(how, (str, Mapping)) for how in value.values())
    return isinstance(value, (bool, Collection))


#: For each argument: the check of a value, and what to write instead.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "compression": (_is_text, "a text, such as 'auto' or 'light+zstd-3'"),
    "chunk_rows": (_is_positive, "a number of rows, at least 1"),
    "chunk_bytes": (_is_positive, "a number of bytes, at least 1"),
    "max_message_bytes": (_is_positive, "a number of bytes, at least 1"),
    "numeric": (
        lambda value: _is_several(value) and len(value) == 2 and all(map(_is_whole, value)),
        "a precision and a scale, such as (38, 10)",
    ),
    "as_text": (_is_texts, "a list of columns, such as ['total']"),
    "progress": (lambda value: isinstance(value, bool) or callable(value), "True, False or a function"),
    "parallel": (_is_text, "'auto', 'on' or 'off'"),
    "partition_on": (_is_text, "the name of a column"),
    "partition_num": (_is_whole, "a whole number, such as 4"),
    "partition_range": (_is_several, "two values, such as (1, 1000)"),
    "consistent": (lambda value: isinstance(value, bool), "True or False"),
    "coerce_float": (lambda value: isinstance(value, bool), "True or False"),
    "parse_dates": (_is_dates, "the name of a column, a list of names, or a mapping such as {'day': '%Y-%m-%d'}"),
    "params": (
        lambda value: not isinstance(value, Mapping) or all(map(_is_text, value)),
        "texts as the names of values, or a list of values",
    ),
    "chunksize": (_is_whole, "a whole number of rows"),
    "batch_size": (_is_whole, "a whole number of rows"),
    "index_col": (_is_text_or_texts, "the name of a column, or a list of names"),
    "table_name": (_is_text, "the name of a table"),
    "schema": (_is_text, "the name of a schema"),
    "columns": (_is_columns, "a list of columns, such as ['total']"),
    "parts": (_is_positive, "a number of parts, at least 1"),
    "pre_execution_query": (_is_text_or_texts, "a text, or a list of texts"),
}


def require(given: Mapping[str, Any]) -> None:
    """Raises TypeError for a value of a wrong type, ValueError for a number out of range. None counts as missing."""
    for name, value in given.items():
        is_right, wanted = _RULES.get(name, (None, ""))
        if is_right is not None and value is not None and not is_right(value):
            kind = ValueError if is_right is _is_positive and _is_whole(value) else TypeError
            raise kind(f"{name} is {value!r}: give {wanted}")


#: Arguments of other libraries' functions that have another name here.
_ELSEWHERE = {
    "connection": "conn",
    "execute_options": "params",
    "iter_batches": "chunksize",
    "schema_overrides": "dtype",
    "uri": "conn",
}


def refuse_unknown(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raises TypeError for an argument that the function does not have."""
    for name in given:
        if name not in known:
            near = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in known else difflib.get_close_matches(name, known, 1)
            advice = f"did you mean {near[0]}?" if near else f"its options are {', '.join(sorted(known))}"
            raise TypeError(f"{function}() has no argument {name!r}: {advice}")
