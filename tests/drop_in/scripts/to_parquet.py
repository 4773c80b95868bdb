"""A table kept in Parquet and CSV: pandas' "IO tools"."""

import io
import sys

import pandas as pd
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql(
    "select id, quantity, price, discount, ordered, rating, status from orders order by id",
    uri,
    parse_dates=["ordered"],
)
parquet = io.BytesIO()
orders.to_parquet(parquet, index=False)
again = pd.read_parquet(io.BytesIO(parquet.getvalue()))
csv = orders.to_csv(index=False)
result = {
    "columns": again.columns.tolist(),
    "price": again["price"].sum(),
    "rating": again["rating"].mean(),
    "last": again["ordered"].max(),
    "states": again["status"].value_counts(),
    "product": (again["price"] * again["quantity"] * 0.5).sum(),
    "first lines": csv.splitlines()[:20],
    "bytes": len(csv),
    "read again": pd.read_csv(io.StringIO(csv)).sum(numeric_only=True),
}
