"""When goods are ordered and how long they take: pandas' accessors of dates and times."""

import sys

import pandas as pd
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select id, ordered, shipped, price from orders order by id", uri)
customers = read_sql("select id, birthday from customers order by id", uri, parse_dates={"birthday": "%Y-%m-%d"})
orders["ordered"] = pd.to_datetime(orders["ordered"])
orders["shipped"] = pd.to_datetime(orders["shipped"])
took = orders["shipped"] - orders["ordered"].dt.normalize()
result = {
    "hours": orders["ordered"].dt.hour.value_counts().sort_index(),
    "days": orders["ordered"].dt.day_name().value_counts().sort_index(),
    "months": orders.groupby(orders["ordered"].dt.to_period("M"))["price"].sum().tolist(),
    "took": took.dt.days,
    "mean": took.mean().total_seconds(),
    "late": (took > pd.Timedelta(days=5)).sum(),
    "missing": orders["shipped"].isna().sum(),
    "between": orders[orders["ordered"].between("2024-03-01", "2024-04-30")]["price"].sum(),
    "after": orders[orders["shipped"] > "2024-06-01"]["id"].tolist(),
    "born": customers["birthday"].dt.year.value_counts().sort_index(),
    "age": ((pd.Timestamp("2025-01-01") - customers["birthday"]).dt.days // 365).mean(),
    "texts": orders["ordered"].dt.strftime("%d.%m.%Y %H:%M").head().tolist(),
    "quarters": orders["shipped"].dt.quarter.value_counts().sort_index(),
    "grouped": orders.set_index("ordered").groupby(pd.Grouper(freq="QS"))["price"].mean(),
}
