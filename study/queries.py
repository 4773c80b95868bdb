"""Queries with joins: how much the speed of the client matters if the server joins, and if results are small."""

from __future__ import annotations

import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from study import databases, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Unmeasurable
from study.medians import median, names, ratio, spread
from study.parted import WHOLE, condition, has_free_cores, in_parts, named, not_measured, with_cores
from study.systems import EXTENSION, POSTGRES

#: Rows of lineitem at TPC-H's scale factor 1.
LINEITEM_ROWS = 6_000_000
#: With a smaller scale factor some queries would return no rows.
MIN_SCALE = 0.002
TABLES = ["lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation", "region"]
PARTS = 4
#: The selections, projections and joins of each of TPC-H's 22 queries. The predicates give sizes like the paper's. The
#: first column, a key that is never NULL, divides the result into parts.
QUERIES = {
    "Q1": "SELECT l_orderkey, l_returnflag, l_linestatus, l_quantity, l_extendedprice, l_discount, l_tax FROM lineitem "
    "WHERE l_shipdate <= DATE '1998-09-02'",
    "Q2": "SELECT p_partkey, s_acctbal, s_name, n_name, p_mfgr, s_address, s_phone, s_comment "
    "FROM part, supplier, partsupp, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey "
    "AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name IN ('EUROPE', 'ASIA', 'AMERICA')",
    "Q3": "SELECT l_orderkey, l_extendedprice, l_discount, o_orderdate, o_shippriority FROM customer, orders, lineitem "
    "WHERE c_mktsegment IN ('BUILDING', 'MACHINERY') AND c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND o_orderdate < DATE '1996-12-31'",
    "Q4": "SELECT o_orderkey, o_orderpriority, o_orderdate FROM orders WHERE o_orderdate >= DATE '1993-12-01'",
    "Q5": "SELECT l_orderkey, n_name, l_extendedprice, l_discount "
    "FROM customer, orders, lineitem, supplier, nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey "
    "AND n_regionkey = r_regionkey AND o_orderdate >= DATE '1994-01-01'",
    "Q6": "SELECT l_orderkey, l_extendedprice, l_discount FROM lineitem WHERE l_discount BETWEEN 0.03 AND 0.07 "
    "AND l_quantity < 40",
    "Q7": "SELECT l_orderkey, n1.n_name AS supp_nation, n2.n_name AS cust_nation, l_shipdate, l_extendedprice, "
    "l_discount FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey "
    "AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey "
    "AND c_nationkey = n2.n_nationkey AND n1.n_regionkey = 3 AND n2.n_regionkey IN (1, 2)",
    "Q8": "SELECT l_orderkey, o_orderdate, l_extendedprice, l_discount, n2.n_name AS nation "
    "FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey "
    "AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey "
    "AND n1.n_regionkey = r_regionkey AND s_nationkey = n2.n_nationkey AND r_name = 'AMERICA' AND p_type LIKE '%STEEL'",
    "Q9": "SELECT l_orderkey, n_name, o_orderdate, l_extendedprice, l_discount, ps_supplycost, l_quantity "
    "FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey "
    "AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey "
    "AND p_name LIKE '%green%'",
    "Q10": "SELECT c_custkey, c_name, l_extendedprice, l_discount, c_acctbal, n_name, c_address, c_phone, c_comment "
    "FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND c_nationkey = n_nationkey AND o_orderdate >= DATE '1994-06-01'",
    "Q11": "SELECT ps_partkey, ps_supplycost, ps_availqty FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey "
    "AND s_nationkey = n_nationkey AND n_name <> 'GERMANY'",
    "Q12": "SELECT l_orderkey, l_shipmode, o_orderpriority FROM orders, lineitem WHERE o_orderkey = l_orderkey "
    "AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate",
    "Q13": "SELECT c_custkey, o_orderkey FROM customer LEFT JOIN orders ON c_custkey = o_custkey "
    "AND o_comment NOT LIKE '%special%requests%'",
    "Q14": "SELECT l_partkey, p_type, l_extendedprice, l_discount FROM lineitem, part WHERE l_partkey = p_partkey "
    "AND l_shipdate >= DATE '1995-09-01'",
    "Q15": "SELECT l_suppkey, s_name, s_address, s_phone, l_extendedprice, l_discount FROM supplier, lineitem "
    "WHERE s_suppkey = l_suppkey AND l_shipdate >= DATE '1995-09-01'",
    "Q16": "SELECT ps_suppkey, p_brand, p_type, p_size FROM partsupp, part WHERE p_partkey = ps_partkey "
    "AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)",
    "Q17": "SELECT l_partkey, l_quantity, l_extendedprice FROM lineitem, part WHERE p_partkey = l_partkey "
    "AND p_container = 'MED BOX'",
    "Q18": "SELECT o_orderkey, c_name, c_custkey, o_orderdate, o_totalprice, l_quantity "
    "FROM customer, orders, lineitem WHERE o_totalprice > 300000 AND c_custkey = o_custkey AND o_orderkey = l_orderkey",
    "Q19": "SELECT l_partkey, l_extendedprice, l_discount FROM lineitem, part WHERE p_partkey = l_partkey "
    "AND l_quantity <= 15 AND l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON' "
    "AND p_size BETWEEN 1 AND 25",
    "Q20": "SELECT s_suppkey, s_name, s_address FROM supplier, nation WHERE s_nationkey = n_nationkey",
    "Q21": "SELECT s_suppkey, s_name, l_orderkey FROM supplier, lineitem, orders, nation WHERE s_suppkey = l_suppkey "
    "AND o_orderkey = l_orderkey AND o_orderstatus = 'F' AND l_receiptdate > l_commitdate "
    "AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA'",
    "Q22": "SELECT c_custkey, c_phone, c_acctbal FROM customer WHERE c_acctbal > 0 "
    "AND substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17')",
}
#: The queries of a short run: large and small results, few and many joins.
FEW = {"tiny": ["Q3", "Q20"], "quick": ["Q1", "Q5", "Q6", "Q9", "Q10", "Q14", "Q19"]}
PANDAS, CONNECTORX = systems.by_name("PostgreSQL, pandas + SQLAlchemy", "PostgreSQL, ConnectorX")
COMPARED = [(PANDAS, WHOLE), (CONNECTORX, WHOLE), (CONNECTORX, PARTS), (POSTGRES, WHOLE), (POSTGRES, PARTS)]
COMPARED += [(EXTENSION, WHOLE)]
#: Table 4, where it has a number: ConnectorX's speed divided by pandas', without partitions and with four, at scale 10.
PAPER = {
    "Q1": (3.8, 8.4),
    "Q2": (2.2, 3.0),
    "Q3": (2.5, 3.2),
    "Q4": (1.7, 1.2),
    "Q5": (1.2, 0.4),
    "Q6": (3.8, 3.4),
    "Q9": (2.3, 1.0),
    "Q10": (2.5, 3.3),
    "Q11": (3.3, 5.8),
    "Q14": (2.7, 3.1),
    "Q19": (1.2, 0.3),
}


def generated(directory: Path, scale: float) -> dict[str, Path]:
    """TPC-H's tables, as files."""
    program = Path(sys.executable).with_name("tpchgen-cli")
    if not program.exists():
        raise Unmeasurable(f"{program} is missing: it comes with tools/requirements/bench.txt")
    names = ",".join(TABLES)
    command = [program, "parquet", "-s", f"{scale:g}", f"--tables={names}", f"--output-dir={directory}"]
    subprocess.run(command, check=True, capture_output=True)
    return {table: directory / f"{table}.parquet" for table in TABLES}


def run(context: Context) -> list[Row]:
    wanted = systems.available(context.peers, [system for system, _ in COMPARED])
    scale = min(1.0, max(MIN_SCALE, context.size.rows / LINEITEM_ROWS))
    rows: list[Row] = []
    with databases.started(context, generated(context.scratch, scale), wanted) as there:
        for name in FEW.get(context.size.name, list(QUERIES)):
            query = QUERIES[name]
            key = query.removeprefix("SELECT ").partition(",")[0]
            asked = [in_parts(system, parts, key, is_join=True) for system, parts in COMPARED if system in wanted]
            rows += [{**row, "scale": scale} for row in there.readings(asked, name, destination="pandas", query=query)]
    rows = with_cores(rows)
    for name, (whole, parted) in PAPER.items():
        rows.append({"table": name, "paper": True, "faster": whole, "faster_in_parts": parted})
    return rows


def seconds(rows: list[Row], query: str, system: str) -> float | None:
    return median(rows, "wall", table=query, system=system)


def faster(rows: list[Row], query: str, system: str) -> float | None:
    """Than pandas."""
    return ratio(seconds(rows, query, PANDAS.name), seconds(rows, query, system))


def of_seconds(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for query in names(rows, "table"):
        count = median(rows, "rows", table=query)
        walls = [spread(rows, "wall", table=query, system=name) for name in names(rows)]
        lines.append([query, count and int(count), *walls])
    scale = next(row["scale"] for row in rows if "scale" in row)
    return Table(f"Into pandas, scale factor {scale:.2g}", ["", "rows", *(f"{name} s" for name in names(rows))], lines)


def of_speed(rows: list[Row]) -> Table:
    paper = {row["table"]: row for row in rows if row.get("paper")}
    others = [name for name in names(rows) if name != PANDAS.name]
    lines: list[list[Any]] = []
    for query in names(rows, "table"):
        known = paper.get(query, {})
        mine = [faster(rows, query, name) for name in others]
        lines.append([query, *mine, known.get("faster"), known.get("faster_in_parts")])
    head = ["", *others, "ConnectorX (paper)", f"ConnectorX, {PARTS} parts (paper)"]
    return Table("Times pandas' speed (Table 4)", head, lines)


def draw(rows: list[Row], axes: Axes) -> None:
    for name in names(rows):
        known = [(query, times) for query in names(rows, "table") if (times := faster(rows, query, name))]
        if known and name != PANDAS.name:
            axes.plot(*zip(*known, strict=True), marker="o", linestyle="", label=name)
    axes.axhline(1, color="gray", linewidth=1)
    axes.set_ylabel("times pandas' speed")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)


def show(rows: list[Row]) -> list[Part]:
    plot = Plot("Times pandas' speed", partial(draw, rows))
    return [of_seconds(rows), of_speed(rows), plot, *not_measured(rows)]


def findings(rows: list[Row]) -> list[Finding]:
    def figures(system: str) -> dict[str, float]:
        return {query: times for query in names(rows, "table") if (times := faster(rows, query, system))}

    whole, parted = figures(CONNECTORX.name), figures(named(CONNECTORX.name, PARTS))
    ours = list(figures(POSTGRES.name).values())
    worse = [query for query in whole if query in parted and parted[query] < whole[query]]
    is_known = bool(whole and parted and ours)
    return [
        Finding(
            "ConnectorX without partitions is up to 3.8 times as fast as pandas, and never much slower than it.",
            f"ConnectorX is {min(whole.values()):.1f} to {max(whole.values()):.1f} times as fast as pandas. Colonnade, "
            f"without the extension, is {min(ours):.1f} to {max(ours):.1f} times as fast; the median is "
            f"{statistics.median(ours):.1f}."
            if is_known
            else "not measured",
            min(whole.values()) > 0.8 if is_known else None,
        ),
        Finding(
            "Partitions can make queries with joins slower: the server executes the join once for each partition.",
            f"Four parts are slower than one connection for {', '.join(worse) or 'no query'} of {', '.join(parted)}. "
            f"{condition(rows, PARTS)}".strip()
            if is_known
            else "not measured",
            bool(worse) if is_known and has_free_cores(rows, PARTS) else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Queries with joins",
    source="ConnectorX, Table 4",
    question=(
        "How much does the speed of the client matter when the server executes a join first, or when the result is "
        "small? The selections, projections and joins of TPC-H's queries are read from PostgreSQL into pandas."
    ),
    run=run,
    show=show,
    findings=findings,
)
