"""Intervals and arrays of PostgreSQL."""

import sys

import pandas as pd
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql(
    """
    select id, ordered, shipped + time '12:00' - ordered as took, array[status::text, 'order'] as tags,
           array[quantity, 2] as pair, ordered at time zone 'UTC' as moment, cast(price as real) as price
    from orders where shipped is not null order by id
    """,
    uri,
)
hours = orders["took"].dt.total_seconds() / 3600
result = {
    "hours": hours,
    "mean": orders["took"].mean(),
    "long": (orders["took"] > pd.Timedelta("5 days")).sum(),
    "again": (orders["ordered"] + orders["took"]).dt.hour.unique().tolist(),
    "tags": orders.explode("tags")["tags"].value_counts(),
    "joined": orders["tags"].str.join("/").head().tolist(),
    "lists": orders["tags"].head().tolist(),
    "with": orders["tags"].apply(lambda tags: "shipped" in tags and bool(tags)).sum(),
    "sums": orders["pair"].apply(sum).sum(),
    "moment": orders["moment"].dt.tz_convert("Europe/Berlin").dt.hour.value_counts().sort_index(),
    "price": orders["price"].sum(),
}
