"""Generates statements of every kind, whose names, blanks and letter cases make a statement look like another one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

#: What a template's words in upper case stand for.
PARTS: Mapping[str, Sequence[str]] = {
    "NAME": [
        "t",
        "a",
        '"select"',
        '"a;) b"',
        "key",
        "insert",
        "copy",
        "analyze",
        "temp",
        "recursive",
        "verbose",
        "begin",
    ],
    "VALUE": ["1", "'insert into t'", "'; commit'", "null", "( 1 + 2 )", "( QUERY )", "$$ copy $$"],
    "QUERY": [
        "select VALUE",
        "select NAME from NAME where NAME = VALUE",
        "values ( VALUE ) , ( VALUE )",
        "table NAME",
        "( QUERY )",
        "QUERY union all QUERY",
        "WITH QUERY",
    ],
    "WITH": [
        "with NAME as ( QUERY )",
        "with recursive NAME ( NAME ) as ( QUERY )",
        "with NAME as materialized ( QUERY ) , NAME as not materialized ( QUERY )",
        "with NAME as ( CHANGE returning NAME )",
    ],
    "CHANGE": [
        "insert into NAME values ( VALUE )",
        "insert into NAME ( NAME ) QUERY",
        "update NAME set NAME = VALUE where NAME = VALUE",
        "delete from NAME where NAME in ( QUERY )",
        "merge into NAME using NAME on NAME = VALUE when matched then delete",
    ],
    "CHANGED": ["CHANGE", "WITH CHANGE"],
    "READ": ["QUERY", "CHANGED"],
    "NEW": ["", "temp", "temporary"],
    "EXISTS": ["", "if exists"],
}

#: Statements that PostgreSQL and DuckDB both have.
COMMON = [
    *["QUERY", "CHANGED", "CHANGED returning NAME"],
    *["copy NAME to 'x.csv'", "copy ( QUERY ) to 'x.csv'", "copy NAME ( NAME ) from 'x.csv'"],
    *["set timezone = 'UTC'", "set NAME to VALUE", "set session search_path to NAME", "set time zone 'UTC'"],
    *["reset NAME", "show NAME", "show all"],
    *[
        "begin",
        "begin transaction",
        "start transaction",
        "begin transaction read only",
        "commit",
        "end",
        "rollback",
        "abort",
    ],
    *["create NEW table NAME ( NAME int )", "create NEW table if not exists NAME ( NAME int , NAME text )"],
    *["create NEW table NAME as QUERY", "create NEW view NAME as QUERY", "create or replace view NAME as QUERY"],
    *["create schema NAME", "create NEW sequence NAME", "create index NAME on NAME ( NAME )"],
    *["create unique index NAME on NAME ( NAME )", "create type NAME as enum ( 'a' )"],
    *["drop table EXISTS NAME", "drop view EXISTS NAME", "drop schema EXISTS NAME cascade", "drop index NAME"],
    *[
        "alter table NAME rename to NAME",
        "alter table NAME add column NAME int",
        "alter sequence NAME owned by NAME . NAME",
    ],
    *["prepare NAME as READ", "execute NAME", "execute NAME ( VALUE )", "deallocate NAME", "deallocate prepare NAME"],
    *["explain READ", "explain analyze READ", "explain ( analyze ) READ", "explain ( QUERY )"],
    *[
        "vacuum NAME",
        "analyze NAME",
        "truncate NAME",
        "checkpoint",
        "comment on table NAME is 'x'",
        "call NAME ( VALUE )",
    ],
]

#: Statements of one of them.
OF = {
    "duckdb": [
        *[
            "from NAME",
            "from NAME select NAME",
            "WITH from NAME",
            "select NAME : VALUE",
            "pivot NAME on NAME using sum ( NAME )",
        ],
        *[
            "with NAME ( NAME ) using key ( NAME ) as ( QUERY ) QUERY",
            "unpivot NAME on NAME",
            "summarize NAME",
            "describe NAME",
        ],
        *["describe QUERY", "show tables", "show all tables", "use NAME", "pragma database_list", "pragma threads = 1"],
        *["create or replace NEW table NAME ( NAME int )", "create NEW macro NAME ( NAME ) as VALUE"],
        *[
            "attach 'x.db' as NAME",
            "detach NAME",
            "export database 'x'",
            "import database 'x'",
            "load NAME",
            "install NAME",
        ],
        *[
            "copy from database NAME to NAME",
            "set variable NAME = VALUE",
            "set global threads = 1",
            "reset variable NAME",
        ],
        *["insert or replace into NAME values ( VALUE )", "truncate table NAME", "force checkpoint"],
    ],
    "postgresql": [
        *[
            "set local NAME to default",
            "set transaction isolation level serializable",
            "reset all",
            "set role NAME",
            "set schema 'x'",
        ],
        *["set session characteristics as transaction read only", "set session authorization NAME", "show time zone"],
        *["show transaction isolation level", "copy NAME from stdin", "copy ( READ ) to stdout with ( format csv )"],
        *["copy ( CHANGE returning NAME ) to stdout", "savepoint NAME", "release NAME", "release savepoint NAME"],
        *[
            "rollback to NAME",
            "rollback work to savepoint NAME",
            "commit and chain",
            "prepare transaction 'x'",
            "commit prepared 'x'",
        ],
        *[
            "rollback prepared 'x'",
            "declare NAME cursor for QUERY",
            "declare NAME binary scroll cursor with hold for QUERY",
        ],
        *["fetch NAME", "fetch next from NAME", "move 2 in NAME", "close NAME", "close all", "deallocate all"],
        *["discard all", "discard plans", "listen NAME", "notify NAME , 'x'", "unlisten *", "lock table NAME"],
        *["create unlogged table NAME ( NAME serial )", "create table NAME ( like NAME )", "create table NAME of NAME"],
        *[
            "create table NAME partition of NAME default",
            "create table NAME as execute NAME",
            "create materialized view NAME as QUERY",
        ],
        *[
            "create recursive view NAME ( NAME ) as QUERY",
            "create function NAME ( ) returns int language sql as 'select 1'",
        ],
        *[
            "create rule NAME as on insert to NAME do instead nothing",
            "create trigger NAME after insert on NAME execute function NAME ( )",
        ],
        *[
            "drop function NAME",
            "alter role NAME set NAME to VALUE",
            "select VALUE into NAME",
            "grant select on NAME to NAME",
        ],
        *[
            "do 'x'",
            "refresh materialized view NAME",
            "reindex table NAME",
            "cluster NAME",
            "explain ( analyze , verbose ) READ",
        ],
        *["explain verbose READ", "explain analyze verbose READ", "explain execute NAME", "explain ( costs off ) READ"],
        *[
            "explain create table NAME as QUERY",
            "truncate table NAME , NAME",
            "import foreign schema NAME from server NAME into NAME",
        ],
    ],
}

#: Statements that each database reads, with semicolons where they end nothing.
WITH_SEMICOLONS = {
    "duckdb": [
        "select ';' as \"a;b\"",
        "select 1 -- ; '\n",
        "/* ; /* ' */ ; */ select e'\\';'",
        "select $$;$$, $x$ $$;'$x$",
        "values (1, 'it''s;')",
        "create table t(i int)",
        "select `a;b` from t",
        "",
    ],
    "postgresql": [
        "select ';' as \"a;b\"",
        "select 1 -- ; '\n",
        "/* ; /* ' */ ; */ select e'\\';'",
        "select $$;$$, $x$ $$;'$x$",
        "select e'a' -- '\n  '\\';'",
        "select u&'\\0061;', U&\"d\\0061t;a\" uescape '!'",
        "create function f() returns int begin atomic select case 1 when 2 then 3 end; select t.end as case; end",
        "create or replace procedure p() begin atomic insert into t values (1); end",
        "create rule r as on insert to t do also (delete from u; delete from v)",
        "create table begin_(atomic int)",
        "begin",
        "end",
        "",
    ],
}

BLANKS = [" ", " ", " ", "\n", "\t", " /* ; ) ' */ ", " -- ; ' )\n", "/* /* */ */"]


def statements(dialect: str, seed: int, count: int) -> list[str]:
    """Statements by templates of both lists."""
    source = random.Random(seed)
    return [statement(source, source.choice([*COMMON, *OF[dialect]])) for _ in range(count)]


def statement(source: random.Random, template: str) -> str:
    """A statement by a template."""
    words = [cased(source, word) for word in expanded(source, template, 0)]
    text = "".join(word + source.choice(BLANKS) for word in words)
    return source.choice(["", "", *BLANKS]) + text


def expanded(source: random.Random, template: str, depth: int) -> list[str]:
    if template not in PARTS and " " not in template:
        return [template] if template else []
    found: list[str] = []
    for word in template.split(" ") if template not in PARTS else [template]:
        if word in PARTS:
            choices = PARTS[word] if depth < 4 else PARTS[word][:1]
            found += expanded(source, source.choice(choices), depth + 1)
        elif word:
            found.append(word)
    return found


def cased(source: random.Random, word: str) -> str:
    """A word in one of its letter cases. What stands in quotes is left alone."""
    if not word.replace("_", "").isalnum():
        return word
    return source.choice([word, word, word.upper(), word.title()])
