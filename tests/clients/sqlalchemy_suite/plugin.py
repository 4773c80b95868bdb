"""SQLAlchemy's own tests of a dialect, `sqlalchemy.testing.suite`, with the dialect that it has for PostgreSQL.

tests/test_serve_sqlalchemy_suite.py runs them in a process of their own, since SQLAlchemy's plugin takes pytest over.
That is why this is no conftest.py, which our own tests would find.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

# What PostgreSQL has to be prepared for: extensions, and statements that wait.
import sqlalchemy.dialects.postgresql.provision
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn
from sqlalchemy.testing import provision
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F403

provision.post_configure_engine.fns["postgresql"] = lambda url, engine, ident: None
provision.prepare_for_drop_tables.fns["postgresql"] = lambda config, connection: None


@compiles(CreateColumn, "postgresql")
def without_serial(element: CreateColumn, compiler: Any, **options: Any) -> str:
    """DuckDB has sequences, but no SERIAL that makes one."""
    text = compiler.visit_create_column(element, **options)
    for serial, integer in (("BIGSERIAL", "BIGINT"), ("SMALLSERIAL", "SMALLINT"), ("SERIAL", "INTEGER")):
        text = text and text.replace(f" {serial}", f" {integer}")
    return text


@sa.event.listens_for(sa.Column, "after_parent_attach")
def number(column: sa.Column[Any], table: object) -> None:
    """A sequence for each column that the suite wants numbered."""
    if isinstance(table, sa.Table) and column.info.get("test_needs_autoincrement") and column.default is None:
        column._init_items(sa.Sequence(f"{table.name}_{column.name}_seq", schema=table.schema))
