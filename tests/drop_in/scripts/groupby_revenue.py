"""Revenue by category: pandas' "group by: split-apply-combine"."""

import sys

from pandas import read_sql

uri = sys.argv[1]
orders = read_sql(
    "select p.category, o.quantity, o.price, o.discount from orders o join products p on p.id = o.product_id", uri
)
orders["revenue"] = orders["quantity"] * orders["price"] * (1 - orders["discount"].fillna(0)) * 1.19
by_category = orders.groupby("category")
result = {
    "sum": by_category["revenue"].sum(),
    "mean": by_category["revenue"].mean(),
    "several": by_category.agg(
        units=("quantity", "sum"), dearest=("price", "max"), median=("price", "median"), spread=("revenue", "std")
    ),
    "share": orders["revenue"] / by_category["revenue"].transform("sum"),
    "best": by_category["revenue"].sum().idxmax(),
    "top": orders.nlargest(5, "revenue")["revenue"],
}
