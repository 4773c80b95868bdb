"""Charts of sales: pandas' "chart visualization" and Matplotlib's own calls."""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from pandas import read_sql

uri = sys.argv[1]
orders = read_sql(
    "select ordered, quantity, price, discount, rating, status from orders order by id", uri, parse_dates=["ordered"]
)
figure, axes = plt.subplots(2, 3)
orders.plot(x="ordered", y="price", ax=axes[0, 0])
orders["price"].plot.hist(bins=10, ax=axes[0, 1])
orders.plot.scatter(x="quantity", y="price", ax=axes[0, 2])
orders.boxplot(column="price", by="quantity", ax=axes[1, 0])
orders["status"].value_counts().sort_index().plot.bar(ax=axes[1, 1])
orders.groupby("quantity")["discount"].mean().plot(ax=axes[1, 2])
separate, (left, right) = plt.subplots(1, 2)
counts, edges, _ = left.hist(orders["rating"].dropna())
(line,) = right.plot(orders["ordered"], orders["price"] * orders["quantity"])
right.fill_between(orders["ordered"], orders["price"] * 0.9, orders["price"] * 1.1)
figure.canvas.draw()
separate.canvas.draw()
result = {
    "line": axes[0, 0].lines[0].get_ydata(),
    "histogram": [patch.get_height() for patch in axes[0, 1].patches],
    "points": axes[0, 2].collections[0].get_offsets().tolist(),
    "bars": [patch.get_height() for patch in axes[1, 1].patches],
    "means": axes[1, 2].lines[0].get_ydata(),
    "counts": counts,
    "edges": edges,
    "totals": line.get_ydata(),
}
plt.close("all")
