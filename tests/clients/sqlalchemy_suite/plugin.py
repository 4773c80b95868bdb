"""SQLAlchemy's own tests of a dialect, `sqlalchemy.testing.suite`, with the dialect that it has for PostgreSQL.

tests/clients/test_sqlalchemy_suite.py runs them in a process of their own, since SQLAlchemy's plugin takes pytest over.
That is why this is no conftest.py, which our own tests would find.
"""

from __future__ import annotations

# What PostgreSQL has to be prepared for: extensions, and statements that wait.
import sqlalchemy.dialects.postgresql.provision  # noqa: F401
from sqlalchemy.testing import provision
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F403

provision.post_configure_engine.fns["postgresql"] = lambda url, engine, ident: None
provision.prepare_for_drop_tables.fns["postgresql"] = lambda config, connection: None
