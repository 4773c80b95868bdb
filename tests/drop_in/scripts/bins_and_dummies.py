"""Features for a model: pandas' cut, qcut, get_dummies and factorize."""

import sys

import pandas as pd
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select price, discount, quantity, rating, status from orders order by id", uri)
orders["bin"] = pd.cut(orders["price"], bins=[0, 20, 50, 100, 200], labels=["low", "mid", "high", "top"])
orders["quartile"] = pd.qcut(orders["price"], 4)
dummies = pd.get_dummies(orders["status"], prefix="is", dtype=int)
result = {
    "bins": orders["bin"].value_counts().sort_index(),
    "quartiles": orders.groupby("quartile", observed=True)["price"].mean().tolist(),
    "equal": pd.cut(orders["discount"], 5, labels=False),
    "dummies": dummies.sum(),
    "joined": pd.concat([orders[["price"]], dummies], axis=1).corr(),
    "of ratings": pd.get_dummies(orders["rating"]).sum().tolist(),
    "codes": pd.factorize(orders["status"], sort=True)[0],
    "ranked": orders["price"].rank(pct=True),
    "mapped": orders["rating"].map({1: -1, 2: -1, 3: 0, 4: 1, 5: 1}),
    "replaced": orders["quantity"].replace({1: 0}),
    "by bins": pd.cut(orders["quantity"], [0, 3, 6, 12]).value_counts().tolist(),
}
