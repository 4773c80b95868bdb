"""Orders with their customers: pandas' merge, pivot_table, melt and crosstab."""

import sys

import pandas as pd
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select * from orders order by id", uri)
customers = read_sql("select id, country, referrer_id from customers order by id", uri)
products = read_sql("select id, category from products order by id", uri)
joined = orders.merge(customers, left_on="customer_id", right_on="id", suffixes=("", "_customer")).merge(
    products, left_on="product_id", right_on="id", suffixes=("", "_product")
)
joined["total"] = joined["price"] * joined["quantity"]
pivot = joined.pivot_table(values="total", index="country", columns="category", aggfunc="sum", margins=True)
# A key with NULLs is joined with one without.
referred = customers.merge(customers, left_on="referrer_id", right_on="id", how="left", suffixes=("", "_of_referrer"))
result = {
    "pivot": pivot,
    "melted": pivot.reset_index().melt(id_vars="country").groupby("country")["value"].max(),
    "crosstab": pd.crosstab(joined["country"], joined["status"]),
    "crosstab of values": pd.crosstab(joined["country"], joined["status"], values=joined["total"], aggfunc="mean"),
    "referred": referred["country_of_referrer"].value_counts(dropna=False).to_dict(),
    "stacked": joined.groupby(["country", "category"])["total"].mean().unstack(fill_value=0),
    "rows": len(joined),
}
