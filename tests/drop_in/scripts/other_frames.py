"""Into polars and Arrow: ConnectorX's return types."""

import sys

import polars as pl
from connectorx import read_sql

uri = sys.argv[1]
query = "select id, quantity, price, discount, rating, ordered, status from orders"
frame = read_sql(uri, query, return_type="polars")
table = read_sql(uri, query, return_type="arrow")
by_state = (
    frame.group_by("status")
    .agg(pl.col("price").sum().alias("sum"), pl.col("quantity").mean().alias("mean"), pl.len().alias("rows"))
    .sort(pl.col("status").cast(pl.String))
)
result = {
    "sums": by_state["sum"].to_list(),
    "means": by_state["mean"].to_list(),
    "revenue": frame.select((pl.col("price") * pl.col("quantity")).sum()).item(),
    "taxed": frame.select((pl.col("price") * 1.19).sum()).item(),
    "nulls": frame["rating"].null_count(),
    "median": frame["discount"].median(),
    "filtered": frame.filter(pl.col("price") > 100).height,
    "hours": frame["ordered"].dt.hour().sum(),
    "columns": table.column_names,
    "rows": table.num_rows,
    "arrow sum": table["quantity"].to_numpy().sum(),
    "into pandas": table.to_pandas()["price"].astype(float).mean(),
}
