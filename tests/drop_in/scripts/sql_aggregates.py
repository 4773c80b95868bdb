"""Sums and averages that the database makes, and arithmetic with them."""

import sys

from pandas import read_sql

uri = sys.argv[1]
totals = read_sql(
    """
    select p.category, sum(o.quantity) as units, sum(o.price * o.quantity) as revenue, avg(o.price) as price,
           count(*) as orders, avg(o.rating) as rating, max(o.discount) as discount, sum(p.weight) as weight
    from orders o join products p on p.id = o.product_id group by p.category order by p.category
    """,
    uri,
)
totals["share"] = totals["revenue"] / totals["revenue"].sum() * 100
one = read_sql("select sum(price) as total, avg(price) as mean, round(avg(price), 2) as rounded from orders", uri)
result = {
    "frame": totals,
    "sum": totals["revenue"].sum(),
    "mean": totals["price"].mean(),
    "units": totals["units"].sum() + 1,
    "each": totals["revenue"] / totals["orders"],
    "greatest": totals["revenue"].max(),
    "sorted": totals.sort_values("revenue", ascending=False)["category"].tolist(),
    "weight": totals["weight"].sum() / totals["units"].sum(),
    "scalar": one["total"][0] * 1.19,
    "one": one.iloc[0].tolist(),
    "formatted": [f"{value:.2f}" for value in totals["price"]],
    "rounded": totals.round()["revenue"],
    "total row": totals.sum(numeric_only=True),
}
