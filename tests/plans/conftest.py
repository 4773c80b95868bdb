"""Tables that plans read, in PostgreSQL with and without the extension."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.plans.elsewhere import ROWS, Reader, reader
from tests.testbed import postgres as pg

SETUP = f"""
create schema plans;
create table plans.readings as
  select i as id, nullif(i % 7, 3) as sort, (i * 1.25)::numeric(12, 2) as price, md5(i::text) as word,
    timestamptz '2024-01-01 00:00+00' + i * interval '1 minute' as at, i % 5 = 0 as flag,
    date '2024-01-01' + i % 900 as day,
    'x' as "Odd ""name"
  from generate_series(1, {ROWS}) i;
analyze plans.readings;
create view plans.lottery as select id, random() as luck from plans.readings;
create table plans.changing as select i as id, 0 as state from generate_series(1, {ROWS}) i;
"""


#: A test that failed may have left a plan open, whose snapshot's transaction holds a lock.
TEARDOWN = """
select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in transaction%';
drop schema plans cascade;
"""


@pytest.fixture(scope="module")
def cluster(either: pg.Cluster) -> Iterator[pg.Cluster]:
    with either.prepared(SETUP, TEARDOWN):
        yield either


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Reader]:
    """A process that reads."""
    with reader() as found:
        yield found


@pytest.fixture(scope="module")
def elsewhere_too() -> Iterator[Reader]:
    """Another one, which reads at the same time."""
    with reader() as found:
        yield found
