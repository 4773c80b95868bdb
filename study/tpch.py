"""TPC-H's first ten queries, in SQL that DuckDB, PostgreSQL, MariaDB and SQLite execute alike, and the thesis's times.

The parameters are those of TPC-H's validation. Dates are compared with text, and a year is the beginning of a date's
text, because SQLite stores dates as text. Averages and shares are computed with floats, because databases differ in the
digits of a decimal quotient.
"""

from __future__ import annotations

REVENUE = "sum(l_extendedprice * (1 - l_discount))"


def year(column: str) -> str:
    return f"substr(concat({column}, ''), 1, 4)"


QUERIES = {
    "Q1": "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price, "
    f"{REVENUE} AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, "
    "avg(l_quantity * 1.0e0) AS avg_qty, avg(l_extendedprice * 1.0e0) AS avg_price, "
    "avg(l_discount * 1.0e0) AS avg_disc, count(*) AS count_order FROM lineitem WHERE l_shipdate <= '1998-09-02' "
    "GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    "Q2": "SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment "
    "FROM part, supplier, partsupp, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey "
    "AND p_size = 15 AND p_type LIKE '%BRASS' AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey "
    "AND r_name = 'EUROPE' AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region "
    "WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey "
    "AND n_regionkey = r_regionkey AND r_name = 'EUROPE') ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100",
    "Q3": f"SELECT l_orderkey, {REVENUE} AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem "
    "WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15' GROUP BY l_orderkey, o_orderdate, o_shippriority "
    "ORDER BY revenue DESC, o_orderdate LIMIT 10",
    "Q4": "SELECT o_orderpriority, count(*) AS order_count FROM orders WHERE o_orderdate >= '1993-07-01' "
    "AND o_orderdate < '1993-10-01' AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey "
    "AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority ORDER BY o_orderpriority",
    "Q5": f"SELECT n_name, {REVENUE} AS revenue FROM customer, orders, lineitem, supplier, nation, region "
    "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey "
    "AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= '1994-01-01' "
    "AND o_orderdate < '1995-01-01' GROUP BY n_name ORDER BY revenue DESC",
    "Q6": "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= '1994-01-01' "
    "AND l_shipdate < '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    "Q7": "SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue FROM (SELECT n1.n_name AS supp_nation, "
    f"n2.n_name AS cust_nation, {year('l_shipdate')} AS l_year, l_extendedprice * (1 - l_discount) AS volume "
    "FROM supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey "
    "AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey "
    "AND c_nationkey = n2.n_nationkey AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') "
    "OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE')) AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31') "
    "AS shipping GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year",
    "Q8": "SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share "
    f"FROM (SELECT {year('o_orderdate')} AS o_year, l_extendedprice * (1 - l_discount) * 1.0e0 AS volume, "
    "n2.n_name AS nation FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region "
    "WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey "
    "AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' "
    "AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' "
    "AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations GROUP BY o_year ORDER BY o_year",
    "Q9": f"SELECT nation, o_year, sum(amount) AS sum_profit FROM (SELECT n_name AS nation, {year('o_orderdate')} "
    "AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount "
    "FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey "
    "AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey "
    "AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit GROUP BY nation, o_year "
    "ORDER BY nation, o_year DESC",
    "Q10": f"SELECT c_custkey, c_name, {REVENUE} AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment "
    "FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND o_orderdate >= '1993-10-01' AND o_orderdate < '1994-01-01' AND l_returnflag = 'R' "
    "AND c_nationkey = n_nationkey GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment "
    "ORDER BY revenue DESC, c_custkey LIMIT 20",
}
#: The columns of the tables' keys, which the row stores have as indexes.
INDEXES = {
    "lineitem": ["l_orderkey", "l_partkey, l_suppkey", "l_suppkey"],
    "orders": ["o_orderkey", "o_custkey"],
    "customer": ["c_custkey", "c_nationkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey, ps_suppkey", "ps_suppkey"],
    "supplier": ["s_suppkey", "s_nationkey"],
    "nation": ["n_nationkey"],
    "region": ["r_regionkey"],
}
#: Table 6.1 at scale factor 1: seconds of each query with one thread (None: more than five minutes).
TABLE_6_1: dict[str, list[float | None]] = {
    "MonetDBLite": [0.74, 0.03, 0.29, 0.06, 0.07, 0.18, 0.08, 0.08, 0.09, 0.20],
    "MonetDB": [0.87, 0.02, 0.09, 0.08, 0.10, 0.05, 0.08, 0.11, 0.16, 0.07],
    "SQLite": [8.41, 0.04, 1.83, 0.44, 1.00, 1.17, 6.52, None, 19.05, 1.35],
    "PostgreSQL": [8.93, 0.25, 0.71, 2.08, 0.46, 1.06, 0.62, 0.60, 2.31, 1.40],
    "MariaDB": [19.65, 1.96, 4.87, 0.97, 4.16, 2.02, 2.13, 6.71, 18.12, 15.67],
    "data.table": [0.45, 0.12, 0.28, 0.20, 0.46, 0.13, 0.27, 0.24, 0.88, 0.20],
    "dplyr": [0.70, 0.13, 0.34, 0.25, 0.60, 0.17, 0.31, 0.41, 1.17, 0.28],
    "pandas": [0.85, 0.19, 0.49, 0.41, 0.93, 0.12, 0.44, 0.56, 1.82, 0.34],
    "Julia": [0.99, 0.10, 0.73, 0.25, 0.53, 0.07, 0.30, 0.67, 1.05, 0.57],
}
