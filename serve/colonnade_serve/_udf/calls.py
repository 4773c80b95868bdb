"""Calls of functions: arguments from the ring, the function, its result back into the ring."""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from . import arrow_results, inbound, inferred, numpy_style, outbound, results
from .compiled import AGGREGATE_GROUP, compile_body, used_names
from .failures import Failures, Fault, Source
from .ring import ANSWER_WORDS, DONE, REQUEST_WORDS, Ring

#: How an argument is written.
ARRAY, REPEATED, DICTIONARY = 0, 1, 2


def define(description: dict[str, Any], failures: Failures) -> Call:
    """Compile a function from its description, which is that of `serve/udf/src/description.rs`."""
    kinds = {"scalar": ScalarCall, "aggregate": AggregateCall, "aggregate per group": GroupCall}
    kinds |= {"table": TableCall, "any table": AnyTableCall}
    file_name = f"<function {description['id']}>"
    failures.sources.pop(file_name, None)
    failures.sources[file_name] = Source(description["name"], description["source"])
    return kinds[description["kind"]](description, file_name)


def arrow_style() -> ModuleType:
    """What calls do with arrays of pyarrow."""
    try:
        return importlib.import_module(".arrow_style", __package__)
    except ImportError as error:
        text = (
            "PARAMETER STYLE ARROW needs pyarrow, which the interpreter of functions does not have: install it there, "
            "or leave the style out"
        )
        raise Fault("55000", f"{text} ({error})") from None


class Call:
    """A compiled function."""

    #: Arguments of the Python function after the parameters.
    specials: tuple[str, ...] = ()

    def __init__(self, description: dict[str, Any], file_name: str) -> None:
        self.parameters = [name for name, *_ in description["parameters"]]
        self.are_scalar = [is_scalar for *_, is_scalar in description["parameters"]]
        #: What arguments are: arrays of NumPy, or of pyarrow.
        self.style = arrow_style() if description.get("arrow") else numpy_style
        self.readers = [
            inbound.reader(column_type) if is_scalar else self.style.reader(column_type)
            for _, _, column_type, is_scalar in description["parameters"]
        ]
        self.results = [name for name, *_ in description["results"]]
        self.result_types = [column_type for _, _, column_type, _ in description["results"]]
        self.writers = [outbound.writer(column_type, name) for _, name, column_type, _ in description["results"]]
        self.is_strict: bool = description["strict"]
        # A result whose rows are sequences or dicts themselves.
        nested = ("list", "array", "struct", "map", "union")
        self.are_nested = [column_type[0] in nested for _, _, column_type, _ in description["results"]]
        specials = [name for name in self.specials if name not in self.parameters]
        self.function = compile_body(description["source"], file_name, [*self.parameters, *specials])
        names = used_names(self.function)
        self.needs_columns = "_columns" in names
        self.globals: dict[str, Any] = self.function.__globals__
        if self.style is not numpy_style:
            self.globals["pyarrow"] = sys.modules["pyarrow"]
        self.globals["_types"] = {name: type_name for name, type_name, *_ in description["parameters"]}
        self.has_specials = bool(specials)

    def call(self, ring: Ring, rows: int, groups_at: int, groups: int, words: int) -> None:
        """Call the function, and answer."""
        raise NotImplementedError

    def repetition(self, ring: Ring) -> Callable[[], bool] | None:
        """What calls the function as it was called last, with other values at the same places, and answers. It gives
        False if that is not possible, and nothing has happened. None if it never is."""
        return None

    def release(self) -> None:
        """Drop what refers to this object, so that its memory is free when nobody else has it."""

    def run(self, arguments: list[Any], *specials: Any) -> Any:
        """The function's result."""
        if self.needs_columns:
            self.globals["_columns"] = dict(zip(self.parameters, arguments, strict=True))
        return self.function(*arguments, *specials) if self.has_specials else self.function(*arguments)

    def arguments(self, ring: Ring, rows: int, count: int) -> list[inbound.Values | tuple[Any]]:
        """The arguments: values with their mask, or a tuple with one value."""
        words = iter(inbound.unpack(ring.memory, REQUEST_WORDS, count))
        pairs = zip(self.readers, self.are_scalar, strict=True)
        return [self.argument(ring, rows, read, is_scalar, words) for read, is_scalar in pairs]

    def argument(
        self, ring: Ring, rows: int, read: inbound.Reader, is_scalar: bool, words: Iterator[int]
    ) -> inbound.Values | tuple[Any]:
        form = next(words)
        if form == ARRAY:
            return read(ring.memory, words)
        if form == DICTIONARY:
            numbers, _ = inbound.fixed(ring.memory, words, np.dtype("<u4"))
            return self.style.taken(read(ring.memory, words), numbers)
        if is_scalar:
            return (inbound.items(read(ring.memory, words))[0],)
        return self.style.repeated(read(ring.memory, words), rows)

    def nulls(self, arguments: list[inbound.Values | tuple[Any]], rows: int) -> np.ndarray | None:
        """For a strict function: the rows in which an argument is NULL. None if there are none."""
        found = None
        for argument in arguments if self.is_strict else ():
            mask = np.full(rows, argument[0] is None) if len(argument) == 1 else self.style.nulls(argument)
            if mask is not None and mask.any():
                found = mask if found is None else found | mask
        return found

    def arrays(self, arguments: list[inbound.Values | tuple[Any]], kept: np.ndarray | None = None) -> list[Any]:
        """The arguments as the function gets them: of these rows, which have no NULL, or of all."""
        of = self.style.argument
        return [argument[0] if len(argument) == 1 else of(argument, kept) for argument in arguments]

    def finish(self, ring: Ring, result: Any, rows: int, kept: np.ndarray | None = None) -> None:
        """Answer with one column. `kept`: the result has these rows only, and the others are NULL."""
        count = rows if kept is None else int(np.count_nonzero(kept))
        nodes: list[int] = []
        if kept is None and self.style.write(ring, nodes, self.result_types[0], result, rows):
            ring.finish(rows, nodes)
            return
        found, mask = results.column(result, count, items=self.are_nested[0])
        if kept is not None:
            found, mask = spread(found, mask, kept)
        self.writers[0](ring, nodes, found, mask)
        ring.finish(rows, nodes)


def spread(found: np.ndarray, mask: np.ndarray | None, kept: np.ndarray) -> results.Column:
    """A column of all rows, of which only the kept ones have a result."""
    whole = np.zeros(len(kept), found.dtype)
    if found.dtype == object:
        whole[:] = None
    nulls = ~kept
    whole[kept] = found
    if mask is not None:
        nulls[kept] = mask
    return whole, nulls


class ScalarCall(Call):
    """One result for each row."""

    def __init__(self, description: dict[str, Any], file_name: str) -> None:
        super().__init__(description, file_name)
        #: The words of the last call, its rows, and where its arguments ended, if it had only numbers without NULLs.
        #: Then the next one with the same words has the same arrays, and its result goes to the same place.
        self.last: tuple[bytes, int, int] | None = None
        self.last_arrays: list[Any] = []
        self.last_result: tuple[np.ndarray, int, bytes] | None = None
        self.again: Callable[[], bool] | None = None
        numbers = [column_type[0] in inbound.NUMBERS for _, _, column_type, _ in description["parameters"]]
        self.is_plain = all(numbers) and not any(self.are_scalar)
        name = description["results"][0][2][0]
        #: The type of a result that is not converted. None if all are: NumPy takes a comparison with None for one with
        #: float64.
        self.result_dtype = np.dtype(inbound.NUMBERS[name]) if name in inbound.NUMBERS else None

    def call(self, ring: Ring, rows: int, groups_at: int, groups: int, words: int) -> None:
        key = (bytes(ring.memory[REQUEST_WORDS : REQUEST_WORDS + 8 * words]), rows, ring.at)
        if self.is_plain and key == self.last:
            self.answer_plain(ring, self.run(self.last_arrays), rows)
            return
        arguments = self.arguments(ring, rows, words)
        nulls = self.nulls(arguments, rows)
        if nulls is not None:
            kept = ~nulls
            if kept.any():
                result = self.run(self.arrays(arguments, kept))
                self.finish(ring, result, rows, kept)
            else:
                self.finish(ring, None, rows)
            return
        arrays = self.arrays(arguments)
        self.last = None
        if self.is_plain and all(type(found) is np.ndarray for found in arrays):
            self.last, self.last_arrays, self.last_result, self.again = key, arrays, None, None
        result = self.run(arrays)
        if self.last is not None:
            self.answer_plain(ring, result, rows)
        else:
            self.finish(ring, result, rows)

    def repetition(self, ring: Ring) -> Callable[[], bool] | None:
        if self.again is None and self.last is not None and self.last_result is not None:
            self.again = self.made_repetition(ring, self.last_result[0], self.last[2])
        return self.again

    def release(self) -> None:
        self.again = None

    def made_repetition(self, ring: Ring, view: np.ndarray, end: int) -> Callable[[], bool]:
        """`view` is the place of the result, `end` that of the end of the arguments. Names of the closure instead of
        attributes: what is here runs for each vector of a query."""
        arrays, dtype, shape, printed, wake = self.last_arrays, view.dtype, view.shape, ring.printed, ring.wake
        run = functools.partial(self.run, arrays) if self.needs_columns else functools.partial(self.function, *arrays)
        array = np.ndarray

        def again() -> bool:
            if ring.repeated is not self:
                return False
            ring.is_called = True
            result = run()
            if (
                type(result) is array
                and result.dtype == dtype
                and result.shape == shape
                and not printed
                and ring.repeated is self
            ):
                view[:] = result
                ring.is_called = False
                wake()
            else:
                ring.at = end
                self.answer_plain(ring, result, len(view))
            return True

        return again

    def answer_plain(self, ring: Ring, result: Any, rows: int) -> None:
        """Answer a call whose arguments are plain numbers. If its result is of the right type, nothing is converted."""
        if (
            self.result_dtype is None
            or type(result) is not np.ndarray
            or result.dtype != self.result_dtype
            or result.shape != (rows,)
        ):
            self.finish(ring, result, rows)
            return
        if self.last_result is None:
            at = ring.reserve(result.nbytes)
            view = np.frombuffer(ring.memory, result.dtype, rows, at)
            nodes = np.array([rows, 0, at, result.nbytes, at, 0], "<u8").tobytes()
            self.last_result = (view, at, nodes)
        view, _, nodes = self.last_result
        view[:] = result
        if ring.words != nodes:
            ring.memory[ANSWER_WORDS : ANSWER_WORDS + len(nodes)] = nodes
            ring.words = nodes
        ring.answer(DONE, rows, 6)
        ring.repeated = self


def _offsets(ring: Ring, groups_at: int, groups: int) -> np.ndarray:
    return np.frombuffer(ring.memory, np.int64, groups + 1, groups_at)


class AggregateCall(Call):
    """One result for each group; one call gets all groups."""

    specials = (AGGREGATE_GROUP,)

    def call(self, ring: Ring, rows: int, groups_at: int, groups: int, words: int) -> None:
        counts = np.diff(_offsets(ring, groups_at, groups))
        arguments = self.arguments(ring, rows, words)
        nulls = self.nulls(arguments, rows)
        kept = None
        numbers = np.repeat(np.arange(groups), counts)
        if nulls is not None:
            kept = ~nulls
            numbers = numbers[kept]
            counts = np.bincount(numbers, minlength=groups)
        filled = counts > 0
        if filled.all():
            given = self.style.group_numbers(numbers)
            self.finish(ring, self.run(self.arrays(arguments, kept), given), groups)
        elif filled.any():
            # Groups without rows are NULL, and the others are numbered without gaps.
            numbers = (np.cumsum(filled) - 1)[numbers]
            given = self.style.group_numbers(numbers)
            self.finish(ring, self.run(self.arrays(arguments, kept), given), groups, filled)
        else:
            self.finish(ring, None, groups)


class GroupCall(Call):
    """One result for each group; one call gets one group."""

    def call(self, ring: Ring, rows: int, groups_at: int, groups: int, words: int) -> None:
        offsets = _offsets(ring, groups_at, groups).tolist()
        arguments = self.arguments(ring, rows, words)
        nulls = self.nulls(arguments, rows)
        found = []
        for start, stop in itertools.pairwise(offsets):
            part = [
                argument if len(argument) == 1 else self.style.part(argument, start, stop) for argument in arguments
            ]
            kept = None if nulls is None else ~nulls[start:stop]
            has_rows = stop > start if kept is None else kept.any()
            found.append(self.one(self.run(self.arrays(part, kept))) if has_rows else None)
        self.finish(ring, found, groups)

    def one(self, result: Any) -> Any:
        """The single value of a group: a value, or an array with one."""
        if arrow_results.is_scalar(result):
            return arrow_results.one(result)
        if self.are_nested[0] and not isinstance(result, np.ndarray):
            return arrow_results.items(result) if arrow_results.is_column(result) else result
        if arrow_results.is_column(result):
            result = arrow_results.items(result)
        if isinstance(result, (np.ndarray, list, tuple)) and np.shape(result) != ():
            column, mask = results.column(result, 1)
            return None if mask is not None and mask[0] else column[0]
        return result


class TableCall(Call):
    """Any number of rows."""

    def call(self, ring: Ring, rows: int, groups_at: int, groups: int, words: int) -> None:
        arguments = self.arguments(ring, rows, words)
        nulls = self.nulls(arguments, rows)
        kept = None if nulls is None else ~nulls
        columns = results.table(self.run(self.arrays(arguments, kept)), self.results)
        count = results.length(columns)
        nodes: list[int] = []
        for at, result in enumerate(columns):
            if not self.style.write(ring, nodes, self.result_types[at], result, count):
                self.writers[at](ring, nodes, *results.column(result, count, items=self.are_nested[at]))
        ring.finish(count, nodes)


class AnyTableCall(Call):
    """Any number of rows, with any columns."""

    def call(self, ring: Ring, rows: int, groups_at: int, groups: int, words: int) -> None:
        arguments = self.arrays(self.arguments(ring, rows, words))
        named = results.any_table(self.run(arguments))
        count = results.length([column for _, column in named])
        nodes: list[int] = []
        types: list[tuple[str, str | int]] = []
        for name, result in named:
            passed = self.passed(arguments, result)
            if passed is not None and len(result) == count:
                # The server has this column, with its type.
                types.append((name, passed))
                continue
            known = inferred.arrow_type(result)
            if known is not None and self.style.write(ring, nodes, known[1], result, count):
                types.append((name, known[0]))
                continue
            is_array = isinstance(result, np.ndarray) and result.ndim == 1
            found, mask = results.column(result, count, items=not is_array)
            type_name, description = inferred.sql_type(found, name)
            outbound.writer(description, type_name)(ring, nodes, found, mask)
            types.append((name, type_name))
        ring.finish_any(count, nodes, types)

    def passed(self, arguments: list[Any], result: Any) -> int | None:
        """The number of the argument that a column of the result is. An array of pyarrow cannot have been changed."""
        if not arrow_results.is_column(result):
            return None
        return next((at for at, argument in enumerate(arguments) if argument is result), None)
