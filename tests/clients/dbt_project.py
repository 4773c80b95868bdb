"""dbt-postgres against `colonnade serve`: `make test-dbt`. COLONNADE_DBT names the program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.tooling import PASSWORD, Shop, shop

FILES = {
    "dbt_project.yml": """{name: shopping, version: '1.0', config-version: 2, profile: shop,
        models: {shopping: {+materialized: table}}}""",
    "models/base.sql": "select * from {{ source('shop', 'orders') }}",
    "models/spending.sql": """{{ config(materialized='view') }}
        select customer, sum(total) as total from {{ ref('base') }} group by customer""",
    "models/merged.sql": """{{ config(materialized='incremental', unique_key='id') }}
        select id, total from {{ ref('base') }}
        {% if is_incremental() %} where id >= (select max(id) from {{ this }}) {% endif %}""",
    "models/appended.sql": """{{ config(materialized='incremental', incremental_strategy='append') }}
        select id from {{ ref('base') }}""",
    "models/schema.yml": """{version: 2, sources: [{name: shop, schema: public, tables: [{name: orders}]}],
        models: [{name: base, columns: [{name: id, data_tests: [unique, not_null]}]}]}""",
    "snapshots/history.sql": """{% snapshot history %}
        {{ config(target_schema='history', unique_key='id', strategy='check', check_cols=['total']) }}
        select id, total from {{ ref('base') }} {% endsnapshot %}""",
    "profiles.yml": """{{shop: {{target: dev, outputs: {{dev: {{type: postgres, host: {host}, port: {port},
        user: writer, password: {password}, dbname: shop, schema: public, threads: 2}}}}}}}}""",
}


def project(directory: Path, running: Shop) -> None:
    for name, text in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "profiles.yml":
            text = text.format(host=running.server.host, port=running.server.port, password=PASSWORD)
        path.write_text(text)


def dbt(directory: Path, *arguments: str) -> None:
    command = [
        os.environ["COLONNADE_DBT"],
        *arguments,
        "--project-dir",
        str(directory),
        "--profiles-dir",
        str(directory),
    ]
    environment = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout


def test_models_and_snapshots_are_made_twice(tmp_path: Path) -> None:
    directory = tmp_path / "project"
    with shop(tmp_path) as running, running.connect("writer") as connection:
        project(directory, running)
        for total in (1, 2):
            connection.execute("UPDATE orders SET total = %s WHERE id = 3", [total])
            dbt(directory, "run")
            dbt(directory, "snapshot")
        dbt(directory, "test")
        dbt(directory, "docs", "generate")
        assert connection.execute("SELECT id, total FROM merged ORDER BY id DESC LIMIT 1").fetchall() == [(3, 2)]
        assert connection.execute("SELECT count(*) FROM appended").fetchall() == [(6,)]
        query = "SELECT total, dbt_valid_to IS NULL FROM history.history WHERE id = 3 ORDER BY dbt_valid_from"
        assert connection.execute(query).fetchall() == [(1, False), (2, True)]
        assert (directory / "target/catalog.json").read_text().count('"spending"') > 0
