"""Tortoise ORM with asyncpg: schemas generated twice, relations, aggregates, transactions and its migrations."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from run_all import run_all
from tortoise import Tortoise
from tortoise.exceptions import DoesNotExist, IntegrityError, OperationalError
from tortoise.expressions import Case, F, Q, Subquery, When
from tortoise.functions import Avg, Coalesce, Count, Lower, Max, Sum
from tortoise.query_utils import Prefetch
from tortoise.transactions import in_transaction
from tortoise_models import Address, Event, Mood, Node, Team, Tournament

SCRATCH = Path(os.environ["SCRATCH"])
CONFIG = {
    "connections": {"default": "asyncpg://{PGUSER}:@{PGHOST}:{PGPORT}/{PGDATABASE}".format_map(os.environ)},
    "apps": {"shop": {"models": ["tortoise_models"], "migrations": "shop_migrations", "default_connection": "default"}},
    "use_tz": True,
    "timezone": "UTC",
}
TABLES = ("event_team", "event", "tournament", "address", "team", "node")


async def test_generates_schemas_twice() -> None:
    await Tortoise.init(config=CONFIG)
    await Tortoise.generate_schemas(safe=False)
    await Tortoise.generate_schemas()


async def test_creates_and_gets() -> None:
    cup = await Tournament.create(
        name="Cup",
        prize=Decimal("12.50"),
        day=date(2026, 1, 31),
        length=timedelta(days=2, hours=3),
        settings={"a": [1, {"b": None}]},
        logo=b"\x00\xff",
        weight=0.1,
    )
    assert cup.id == 1
    cup = await Tournament.get(name="Cup")
    assert (cup.prize, cup.day, cup.length) == (Decimal("12.50"), date(2026, 1, 31), timedelta(days=2, hours=3))
    assert (cup.settings, cup.logo, cup.weight, cup.mood, cup.open) == (
        {"a": [1, {"b": None}]},
        b"\x00\xff",
        0.1,
        Mood.HAPPY,
        True,
    )
    league, created = await Tournament.get_or_create(name="League", defaults={"mood": Mood.SAD})
    assert created and league.id == 2
    assert await Tournament.get_or_create(name="League") == (league, False)
    await Team.bulk_create([Team(name=name) for name in ("Reds", "Blues", "Greens")])
    try:
        await Tournament.create(name="Cup")
    except IntegrityError:
        pass
    else:
        raise AssertionError("a name twice")
    try:
        await Tournament.get(name="none")
    except DoesNotExist:
        pass
    else:
        raise AssertionError("a row of nothing")


async def test_relates() -> None:
    cup, league = await Tournament.all()
    reds, blues, greens = await Team.all().order_by("id")
    final = await Event.create(name="Final", tournament=cup, order=2)
    first = await Event.create(name="First", tournament=cup, order=1)
    match = await Event.create(name="Match", tournament=league)
    await final.participants.add(reds, blues)
    await final.participants.add(reds)
    await first.participants.add(reds, greens)
    await match.participants.add(blues)
    await Address.create(city="Oslo", team=reds)
    found = (
        await Event.filter(participants__name="Reds").order_by("order").prefetch_related("participants", "tournament")
    )
    assert [(event.name, event.tournament.name, len(event.participants)) for event in found] == [
        ("First", "Cup", 2),
        ("Final", "Cup", 2),
    ]
    (team,) = await Team.filter(address__city="Oslo").select_related("address")
    assert team.address.city == "Oslo"
    (loaded,) = await Tournament.filter(id=cup.id).prefetch_related(
        Prefetch("events", queryset=Event.filter(order__gt=1))
    )
    assert [event.name for event in loaded.events] == ["Final"]
    assert await cup.events.all().count() == 2
    assert await Tournament.filter(events__participants__name__in=["Greens"]).distinct() == [cup]
    assert await Event.all().order_by("name").values_list("name", "tournament__name") == [
        ("Final", "Cup"),
        ("First", "Cup"),
        ("Match", "League"),
    ]
    await final.participants.remove(blues)
    assert await final.participants.all().count() == 1
    root = await Node.create(name="root")
    leaf = await Node.create(name="leaf", parent=root)
    assert await Node.filter(parent__name="root") == [leaf]


async def test_filters() -> None:
    events = Event.all().order_by("name")
    for found, expected in (
        (events.filter(Q(name__icontains="fi") & ~Q(order=1)), ["Final"]),
        (events.filter(Q(name__startswith="M") | Q(order__in=[2, 3])), ["Final", "Match"]),
        (events.filter(tournament__day__isnull=True), ["Match"]),
        (events.filter(order__range=(1, 2)).limit(1).offset(1), ["First"]),
    ):
        assert await found.values_list("name", flat=True) == expected
    assert await Tournament.filter(settings__contains={"a": [1]}).count() == 1
    now = datetime.now(UTC)
    assert await Tournament.filter(created__year=now.year, created__lte=now + timedelta(minutes=1)).count() == 2
    assert await Tournament.filter(id__in=Subquery(Event.filter(name="Match").values("tournament_id"))).count() == 1
    assert await Tournament.annotate(low=Lower("name")).filter(low="cup").count() == 1
    assert await Tournament.raw("SELECT * FROM tournament WHERE name = 'Cup'") == await Tournament.filter(name="Cup")


async def test_aggregates() -> None:
    counted = (
        await Tournament.annotate(events_count=Count("events"), most=Max("events__order"))
        .order_by("-events_count")
        .values("name", "events_count", "most")
    )
    assert counted == [
        {"name": "Cup", "events_count": 2, "most": 2},
        {"name": "League", "events_count": 1, "most": 0},
    ]
    by_team = (
        await Team.annotate(times=Count("events", distinct=True))
        .filter(times__gte=1)
        .group_by("name")
        .order_by("name")
        .values("name", "times")
    )
    assert by_team == [{"name": "Blues", "times": 1}, {"name": "Greens", "times": 1}, {"name": "Reds", "times": 2}]
    (sums,) = await Event.annotate(total=Sum("order"), mean=Avg("order"), none=Coalesce(Sum("order"), 0)).values(
        "total", "mean", "none"
    )
    assert (int(sums["total"]), float(sums["mean"]), int(sums["none"])) == (3, 1.0, 3)
    filtered = (
        await Tournament.annotate(
            kind=Case(When(prize__gt=10, then="dear"), default="cheap"),
            finals=Count("events", _filter=Q(events__name="Final")),
        )
        .order_by("name")
        .values_list("name", "kind", "finals")
    )
    assert filtered == [("Cup", "dear", 1), ("League", "cheap", 0)]


async def test_updates_and_deletes() -> None:
    cup = await Tournament.get(name="Cup")
    cup.mood, cup.settings = Mood.SAD, {"new": True}
    await cup.save(update_fields=["mood", "settings", "changed"])
    await cup.refresh_from_db()
    assert (cup.mood, cup.settings) == (Mood.SAD, {"new": True})
    assert await Tournament.filter(name="Cup").update(prize=F("prize") * 2) == 1
    assert (await Tournament.get(name="Cup")).prize == Decimal("25.00")
    teams = await Team.all().order_by("id")
    for team in teams:
        team.name = team.name.upper()
    await Team.filter(id=3).update(name="G")
    await Team.bulk_create(
        [Team(id=3, name="Greens!"), Team(id=40, name="Blacks")], on_conflict=["id"], update_fields=["name"]
    )
    assert await Team.filter(id__in=[3, 40]).order_by("id").values_list("name", flat=True) == ["Greens!", "Blacks"]
    await Team.bulk_create([Team(id=40, name="ignored")], ignore_conflicts=True)
    assert await Team.filter(name="ignored").count() == 0
    assert await Team.filter(name="Blacks").delete() == 1
    nodes = [Node(name=f"n{number}") for number in range(500)]
    await Node.bulk_create(nodes, batch_size=200)
    kept = await Node.filter(name__startswith="n").order_by("id")
    for node in kept:
        node.name = "m" + node.name
    assert await Node.bulk_update(kept, fields=["name"], batch_size=100) == 500
    assert await Node.filter(name__startswith="mn").delete() == 500


async def test_saves_whole_rows() -> None:
    """`save()` without fields writes all columns of a row, to which others refer."""
    cup = await Tournament.get(name="Cup")
    cup.weight = 2.5
    await cup.save()
    assert (await Tournament.get(name="Cup")).weight == 2.5
    cup.name = "The cup"
    await cup.save()
    assert await Tournament.filter(name="The cup").exists()


async def test_commits_rolls_back_and_nests() -> None:
    async with in_transaction() as connection:
        await Team.create(name="kept", using_db=connection)
        async with in_transaction():
            await Team.create(name="nested")
    try:
        async with in_transaction():
            await Team.create(name="lost")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert await Team.filter(name__in=["kept", "nested", "lost"]).order_by("name").values_list("name", flat=True) == [
        "kept",
        "nested",
    ]
    connection = Tortoise.get_connection("default")
    assert await connection.execute_query_dict("SELECT $1::int + 1 AS next", [1]) == [{"next": 2}]
    try:
        await connection.execute_query("SELECT * FROM nowhere")
    except OperationalError:
        pass
    else:
        raise AssertionError("the table is there")
    await asyncio.gather(*(Team.filter(id=1).count() for _ in range(20)))


def command(*words: str, **environment: str) -> str:
    path = os.pathsep.join([str(SCRATCH), str(Path(__file__).parent)])
    done = subprocess.run(
        [Path(sys.executable).parent / "tortoise", "-c", "shop_settings.CONFIG", *words],
        cwd=SCRATCH,
        env=os.environ | {"PYTHONPATH": path, "MIGRATING": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_migrates_up_again_on_and_down() -> None:
    connection = Tortoise.get_connection("default")
    for table in TABLES:
        await connection.execute_script(f'DROP TABLE "{table}"')
    await Tortoise.close_connections()
    (SCRATCH / "shop_settings.py").write_text("from with_tortoise import CONFIG\n")
    command("init")
    command("makemigrations")
    command("migrate")
    assert "No migrations to apply" in command("migrate")
    command("makemigrations", "--name", "city", WIDER="1")
    command("migrate", WIDER="1")
    assert "0002" in command("history", WIDER="1")
    await Tortoise.init(config=CONFIG)
    await Tournament.create(name="Cup")
    connection = Tortoise.get_connection("default")
    assert await connection.execute_query_dict("SELECT name, city FROM tournament") == [{"name": "Cup", "city": None}]
    await Tortoise.close_connections()
    command("downgrade", "shop", "0001_initial", WIDER="1")


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        run_all(dict(globals()), runner.run)
