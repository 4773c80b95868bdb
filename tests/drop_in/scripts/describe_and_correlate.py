"""A first look at a table: describe, quantile, corr, value_counts, as "10 minutes to pandas" has them."""

import sys

from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select * from orders order by id", uri)
numbers = ["quantity", "price", "discount", "rating"]
result = {
    "describe": orders[numbers].describe(),
    "default columns": orders.drop(columns=["ordered", "shipped"]).describe().columns.tolist(),
    "quantile": orders["price"].quantile([0.1, 0.5, 0.9]),
    "numbers": orders.select_dtypes("number").columns.tolist(),
    "correlations": orders[numbers].corr(),
    "covariance": orders[numbers].cov(),
    "ranks": orders[numbers].corr(method="spearman"),
    "nulls": orders.isna().sum(),
    "states": orders["status"].value_counts(),
    "ratings": orders["rating"].value_counts(normalize=True).sort_index(),
    "skew": orders["price"].skew(),
    "kurtosis": orders["price"].kurt(),
    "distinct": orders.nunique(),
    "of one row": orders.iloc[0][numbers].tolist(),
    "mean": orders.mean(numeric_only=True),
    "sorted": orders.sort_values(["price", "id"], ascending=[False, True])["id"].head(),
    "queried": orders.query("price > 100 and rating >= 4")["id"].tolist(),
}
