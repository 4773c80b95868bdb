# pyright: reportMissingImports=false
"""`dask_frame`.

The types of a partition must not depend on its values, so all columns are `ArrowDtype`. A part's token is its ticket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.dataframe
import pandas as pd
from dask.base import normalize_token

from colonnade._frames import pandas as frames
from colonnade._frames.layout import Layout
from colonnade._plan.part import Part
from colonnade._plan.plan import Plan

from ._fit import fitted, plain_schema

if TYPE_CHECKING:
    import pyarrow as pa

_LAYOUT = Layout(backend="pyarrow")


def frame(plan: Plan) -> dask.dataframe.DataFrame:
    """The frame. Its parts keep the plan alive in this process."""
    meta = frames.frame(plain_schema(plan.schema), [], _LAYOUT)
    return dask.dataframe.from_map(_read, list(plan.parts), meta=meta, label="colonnade", enforce_metadata=False)


# `columns` has no default, so Dask names them always, also when it needs none.
def _read(part: Part, columns: list[str]) -> pd.DataFrame:
    """One partition."""
    batches = part.batches(columns)
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(sum(batch.num_rows for batch in batches)))
    schema: pa.Schema = plain_schema(batches.schema)
    return frames.frame(schema, fitted(batches, schema, "Dask"), _LAYOUT)


@normalize_token.register(Part)
def _token(part: Part) -> tuple[Any, ...]:
    """What identifies a part for Dask: a ticket is of one plan, and a plan of one state of the database."""
    return "colonnade.Part", part.index, part.ticket, str(part.schema)
