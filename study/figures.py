"""The figures of "Don't Hold My Data Hostage" (Raasveldt & Mühleisen, VLDB 2017) that are shown beside ours.

They were measured with ODBC clients (Hive: JDBC) in a virtual machine of 8 cores and 16 GB. Seconds, and gigabytes.
"""

from __future__ import annotations

#: Table 1: all of lineitem at scale factor 10, one machine; only serialization and transfer. Seconds, GB.
TABLE_1 = {
    "Netcat": (10.25, 7.19),
    "MySQL": (101.22, 7.44),
    "DB2": (169.48, 7.33),
    "DBMS X": (189.50, 6.35),
    "PostgreSQL": (201.89, 10.39),
    "MonetDB": (209.02, 8.97),
    "MySQL+C": (391.27, 2.85),
    "Hive": (627.75, 8.69),
    "MongoDB": (686.45, 43.6),
}
#: The rows of the paper's tables.
ROWS = {"lineitem": 59_986_052, "acs": 9_100_000, "ontime": 10_000_000}
#: Tables 10 to 12: seconds on one machine, over a LAN and a WAN (None: more than an hour), and GB.
NETWORKS: dict[str, dict[str, tuple[float, float, float | None, float]]] = {
    "lineitem": {
        "Netcat": (9.8, 62.0, 696.5, 7.21),
        "Netcat+Sy": (32.3, 32.2, 325.2, 3.55),
        "Netcat+GZ": (405.4, 425.1, 405.0, 2.16),
        "MonetDB++": (10.6, 50.3, 510.8, 5.80),
        "MonetDB++C": (15.5, 19.9, 200.6, 2.27),
        "PostgreSQL++": (39.3, 46.1, 518.8, 5.36),
        "PostgreSQL++C": (42.4, 43.8, 229.5, 2.53),
        "MySQL": (98.8, 108.9, 662.8, 7.44),
        "MySQL+C": (380.3, 379.4, 367.4, 2.85),
        "PostgreSQL": (205.8, 301.1, 2108.8, 10.4),
        "DB2": (166.9, 598.4, None, 7.32),
        "DBMS X": (219.9, 282.3, None, 6.35),
        "Hive": (657.1, 948.5, None, 8.69),
        "MonetDB": (222.4, 256.1, 1381.5, 8.97),
    },
    "acs": {
        "Netcat": (7.62, 46.2, 519.1, 5.38),
        "Netcat+Sy": (21.2, 22.7, 213.7, 2.23),
        "Netcat+GZ": (370.7, 376.3, 372.0, 1.23),
        "MonetDB++": (11.8, 82.7, 837.0, 9.49),
        "MonetDB++C": (22.0, 22.4, 219.0, 2.49),
        "PostgreSQL++": (43.2, 72.0, 787.9, 8.24),
        "PostgreSQL++C": (70.6, 72.0, 192.2, 2.17),
        "MySQL": (334.9, 321.1, 507.6, 5.78),
        "MySQL+C": (601.3, 580.4, 536.0, 1.48),
        "PostgreSQL": (277.8, 265.1, 1455.0, 12.5),
        "DB2": (252.6, 724.5, None, 10.3),
        "DBMS X": (339.8, 538.1, None, 6.06),
        "Hive": (692.3, 723.9, 2239.2, 9.70),
        "MonetDB": (446.5, 451.8, 961.4, 9.63),
    },
    "ontime": {
        "Netcat": (4.24, 28.0, 310.9, 3.24),
        "Netcat+Sy": (6.16, 6.74, 37.0, 0.40),
        "Netcat+GZ": (50.0, 51.0, 49.6, 0.18),
        "MonetDB++": (6.02, 30.2, 308.2, 3.49),
        "MonetDB++C": (7.16, 7.18, 31.3, 0.35),
        "PostgreSQL++": (13.2, 19.2, 213.9, 2.24),
        "PostgreSQL++C": (14.6, 14.1, 76.7, 0.82),
        "MySQL": (100.8, 99.0, 328.5, 3.76),
        "MySQL+C": (163.9, 167.4, 153.6, 0.33),
        "PostgreSQL": (111.3, 102.8, 836.7, 6.49),
        "DB2": (113.2, 314.1, 3386.8, 3.41),
        "DBMS X": (149.9, 281.1, 1858.8, 2.29),
        "Hive": (1119.1, 1161.3, 2418.9, 5.86),
        "MonetDB": (131.6, 135.0, 734.7, 6.92),
    },
}
#: Table 5: seconds for lineitem by codec: one machine, 1000, 100 and 10 Mbit/s; and MB.
CODECS = {
    "None": (1.5, 10.4, 84.8, 848.0, 1012),
    "Snappy": (3.3, 3.8, 37.3, 373.0, 447),
    "LZ4": (4.5, 4.9, 38.4, 383.0, 456),
    "GZIP": (59.8, 60.4, 59.6, 226.0, 272),
    "XZ": (695.0, 689.0, 666.0, 649.0, 203),
}


def per_million(seconds: float | None, table: str) -> float | None:
    """Seconds for a million rows."""
    return None if seconds is None else seconds / ROWS[table] * 1e6


def bytes_a_row(gigabytes: float, table: str) -> float:
    return gigabytes * 1e9 / ROWS[table]
