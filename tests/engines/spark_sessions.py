"""A session of Spark for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.shuffle.partitions": "2",
}


@contextmanager
def spark_session(master: str, settings: dict[str, str] | None = None) -> Iterator[SparkSession]:
    """A process has one session at a time."""
    builder = SparkSession.builder.master(master)
    for name, value in {**_SETTINGS, **(settings or {})}.items():
        builder = builder.config(name, value)
    opened = builder.getOrCreate()
    opened.sparkContext.setLogLevel("ERROR")
    yield opened
    opened.stop()
