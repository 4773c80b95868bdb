"""A partitioned read: ConnectorX's README, and pandas with what arrives."""

import sys

from connectorx import read_sql

uri = sys.argv[1]
orders = read_sql(
    uri,
    "select id, customer_id, quantity, price, rating, ordered, shipped, status from orders",
    partition_on="id",
    partition_num=3,
)
some = read_sql(uri, "select id, price from orders", partition_on="id", partition_range=(1, 600), partition_num=2)
two = read_sql(uri, ["select price from orders where id <= 300", "select price from orders where id > 300"])
indexed = read_sql(uri, "select id, price from orders", index_col="id")
orders = orders.sort_values("id", ignore_index=True)
result = {
    "rows": len(orders),
    "revenue": (orders["price"] * orders["quantity"] * 1.19).sum(),
    "by state": orders.groupby("status")["price"].mean(),
    "rating": orders["rating"].mean(),
    "good": (orders["rating"] > 3).sum(),
    "hours": orders["ordered"].dt.hour.value_counts().sort_index(),
    "shipped": orders["shipped"].dt.month.value_counts().sort_index(),
    "took": (orders["shipped"] - orders["ordered"]).dt.total_seconds().mean(),
    "monthly": orders.set_index("ordered")["price"].resample("MS").sum(),
    "some": some["price"].sum(),
    "two": two["price"].mean(),
    "indexed": indexed.loc[5, "price"],
    "customers": orders["customer_id"].nunique(),
}
