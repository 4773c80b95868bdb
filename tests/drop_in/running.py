"""Runs a script under each library, its import changed and nothing else, and compares what it ends with."""

from __future__ import annotations

import ast
import datetime
import math
import re
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import colonnade
import numpy as np
import pandas as pd

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
#: A float4 has 24 bits: psycopg reads its decimal digits, others its value.
TOLERANCE = 1e-7
#: Scripts about types that one source alone has.
ONLY = {"postgres_types": "postgresql"}


@dataclass(frozen=True)
class Script:
    """A script, and what it was written for."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def library(self) -> str:
        """Where its `read_sql` comes from: pandas or connectorx."""
        found = re.search(r"^from (\w+) import read_sql$", self.text, re.MULTILINE)
        assert found, self.path
        return found[1]

    @cached_property
    def needs(self) -> set[str]:
        """The modules that it imports besides, connectorx apart."""
        tree = ast.parse(self.text)
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        return {name.partition(".")[0] for name in names} - {"connectorx"}

    def reads(self, source: str) -> bool:
        return ONLY.get(self.name, source) == source

    def run(self, library: str, uri: str, **more: Any) -> dict[str, Any]:
        """What it ends with, where `read_sql` is another library's; `more` are arguments of every call."""
        module = types.ModuleType("replaced")
        module.read_sql = self._reader(library, more)  # type: ignore[attr-defined]
        text = self.text.replace(f"from {self.library} import read_sql", "from replaced import read_sql")
        names: dict[str, Any] = {"__name__": "__main__"}
        before, sys.argv = sys.argv, [str(self.path), uri]
        sys.modules["replaced"] = module
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(text, self.path.name, "exec"), names)
        finally:
            sys.argv = before
            del sys.modules["replaced"]
        return {name: plain(value) for name, value in names["result"].items()}

    def _reader(self, library: str, more: Mapping[str, Any]) -> Callable[..., Any]:
        if library == "colonnade":
            return lambda *given, **named: colonnade.read_sql(*given, **(named | more))
        if library == "pandas":
            # pandas' order, for scripts that have ConnectorX's.
            swaps = self.library != "pandas"
            return lambda *given, **named: pd.read_sql(*(given[::-1] if swaps else given), **(named | more))
        import connectorx

        def read(*given: Any, **named: Any) -> Any:
            if self.library != "connectorx":
                given = (named.pop("con", *given[1:]), given[0])
            return connectorx.read_sql(*given, **(named | more))

        return read


def plain(value: Any) -> Any:
    """Numbers, texts and lists of them, whatever a library calls their types. NaN, NaT and NULL are None."""
    if isinstance(value, pd.DataFrame):
        return {str(name): plain(value[name]) for name in value.columns}
    if isinstance(value, pd.Series):
        return [plain(value.index.tolist()), plain(value.tolist())]
    if isinstance(value, np.ma.MaskedArray):
        return plain(value.filled(np.nan).tolist() if value.dtype.kind == "f" else value.tolist())
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(held) for held in value]
    if isinstance(value, bytes | str):
        return value
    if isinstance(value, pd.Interval | pd.Period):
        return str(value)
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.date):
        return pd.Timestamp(value).isoformat()
    if isinstance(value, bool | int | float | Decimal):
        number = float(value)
        return None if math.isnan(number) else number
    return value


def differences(found: Any, wanted: Any, where: str = "") -> list[str]:
    """Where the two are not the same, by name."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        if list(found) != list(wanted):
            return [f"{where}: {list(found)} in place of {list(wanted)}"]
        return [text for name in wanted for text in differences(found[name], wanted[name], f"{where}/{name}")]
    if isinstance(found, list) and isinstance(wanted, list):
        if len(found) != len(wanted):
            return [f"{where}: {len(found)} in place of {len(wanted)} values"]
        each = zip(found, wanted, strict=True)
        return [text for index, (a, b) in enumerate(each) for text in differences(a, b, f"{where}[{index}]")][:3]
    if isinstance(found, float) and isinstance(wanted, float):
        same = math.isclose(found, wanted, rel_tol=TOLERANCE, abs_tol=1e-9)
    else:
        same = type(found) is type(wanted) and found == wanted
    return [] if same else [f"{where}: {found!r} in place of {wanted!r}"]
