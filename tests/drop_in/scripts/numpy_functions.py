"""NumPy's functions over columns, as tutorials about features use them."""

import sys

import numpy as np
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select id, quantity, price, discount, rating from orders order by id", uri)
products = read_sql("select price, weight, stock from products order by id", uri)
result = {
    "log1p": np.log1p(orders["price"]),
    "sqrt": np.sqrt(orders["price"] * orders["quantity"]),
    "isnan": np.isnan(orders["rating"]).sum(),
    "where": np.where(orders["rating"] > 3, 1, 0),
    "where with a null": np.where(np.isnan(orders["discount"]), 0, orders["discount"]),
    "select": np.select([orders["rating"] >= 4, orders["rating"] >= 2], [2, 1], default=0),
    "percentiles": np.percentile(orders["price"], [5, 50, 95]),
    "nanmean": np.nanmean(orders["rating"]),
    "log": np.log(products["weight"]),
    "density": products["price"] / products["weight"],
    "dot": np.dot(products["price"], products["stock"]),
    "polyfit": np.polyfit(orders["quantity"], orders["price"], 1),
    "clipped": np.clip(orders["discount"], 0.05, 0.2),
    "round": np.round(orders["price"], 1),
    "standardized": (orders["price"] - orders["price"].mean()) / orders["price"].std(),
    "matrix": np.corrcoef(orders[["quantity", "price"]].to_numpy(), rowvar=False),
    "histogram": np.histogram(orders["rating"].dropna(), bins=5)[0],
    "isinf": np.isinf(orders["price"]).any(),
}
