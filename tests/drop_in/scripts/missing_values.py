"""Columns with NULLs: pandas' "working with missing data"."""

import sys

import numpy as np
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select id, rating, discount, shipped, price from orders order by id", uri)
result = {
    "filled": orders["rating"].fillna(orders["rating"].mean()),
    "interpolated": orders["rating"].interpolate(),
    "forward": orders["rating"].ffill().fillna(0).astype(int),
    "integers": orders["rating"].fillna(0).astype(int).sum(),
    "greater": (orders["rating"] > 3).sum(),
    "not greater": (~(orders["rating"] > 3)).sum(),
    "where": np.where(orders["rating"].isna(), -1, orders["rating"]),
    "dropped": len(orders.dropna()),
    "counted": orders.count(),
    "replaced": orders["rating"].replace(np.nan, 3).mean(),
    "product": (orders["rating"] * orders["price"]).sum(),
    "filtered": orders[orders["rating"] >= 4]["price"].sum(),
    "sum of all": orders["rating"].sum(),
    "with zero": orders["discount"].fillna(0) * orders["price"],
    "mask": orders["rating"].mask(orders["rating"] < 2, 0).sum(),
    "applied": orders["rating"].apply(lambda value: 0 if np.isnan(value) else int(value)).sum(),
    "values": orders["rating"].to_numpy(),
    "any": orders["shipped"].isnull().any(),
    "compared": orders["rating"].eq(orders["rating"].shift()).sum(),
}
