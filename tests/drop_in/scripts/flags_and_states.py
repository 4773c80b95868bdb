"""Booleans with NULLs, enumerations and text."""

import sys

import numpy as np
from pandas import read_sql

uri = sys.argv[1]
customers = read_sql("select id, name, country, newsletter from customers order by id", uri)
orders = read_sql("select id, status, price from orders order by id", uri)
orders["label"] = orders["status"] + "_" + orders["id"].astype(str)
result = {
    "subscribed": (customers["newsletter"] == True).sum(),  # noqa: E712
    "where": np.where(customers["newsletter"] == 1, "yes", "no").tolist(),
    "unknown": customers["newsletter"].isna().sum(),
    "filled": customers["newsletter"].fillna(False).astype(bool).sum(),
    "by country": customers.groupby("country")["newsletter"].sum().astype(int),
    "labels": orders["label"].head().tolist(),
    "upper": orders["status"].str.upper().unique().tolist(),
    "in": orders[orders["status"].isin(["new", "paid"])]["price"].sum(),
    "replaced": orders["status"].replace({"new": "open", "paid": "open"}).value_counts(),
    "sorted": orders.sort_values(["status", "id"])["id"].head(10).tolist(),
    "grouped": orders.groupby("status")["price"].mean(),
    "widths": orders["status"].str.len().sum(),
    "letters": (customers["name"].str.title() + " (" + customers["country"] + ")").head().tolist(),
    "greatest": orders["status"].max(),
    "set": (orders.assign(status=orders["status"].where(orders["price"] < 100, "dear"))["status"]).value_counts(),
}
