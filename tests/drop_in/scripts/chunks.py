"""A large table piece by piece: pandas' chunksize."""

import sys

import pandas as pd
from pandas import read_sql

uri = sys.argv[1]
total = 0.0
units = 0
pieces = []
for piece in read_sql(
    "select id, price, quantity, rating, status from orders order by id", con=uri, chunksize=128, index_col="id"
):
    total += (piece["price"] * piece["quantity"]).sum() * 1.19
    units += int(piece["quantity"].sum())
    pieces.append(piece[piece["price"] > 100])
dear = pd.concat(pieces)
result = {
    "total": total,
    "units": units,
    "rows": len(dear),
    "mean": dear["price"].mean(),
    "rating": dear["rating"].mean(),
    "states": dear["status"].value_counts().sort_index(),
    "index": dear.index.tolist(),
}
