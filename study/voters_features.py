"""What the tables, the clients and the database of the thesis's chapter 5 have in common."""

from __future__ import annotations

from typing import Any

#: What the classifier gets, and what the pipeline needs in addition to it.
FEATURES = ["age", "registered", "sex", "race", "party", "county"]
NEEDED = ["voter", "precinct", "draw", *FEATURES]
#: The rows of voters, joined with their precinct's votes and labelled; all databases run it. `{}` are the columns.
LABELLED = (
    "SELECT {}, CASE WHEN v.draw * (p.dem + p.rep) < p.dem * 1000000 THEN 'DEM' ELSE 'REP' END AS vote "
    "FROM voters v JOIN precincts p ON v.precinct = p.precinct"
)
#: The parameters of the random forest.
TRAIN: dict[str, Any] = {"n_estimators": 10, "max_depth": 10}
