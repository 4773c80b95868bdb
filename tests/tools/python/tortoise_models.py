"""The models of with_tortoise.py. They refer to each other with NO ACTION, because DuckDB has no other."""

from __future__ import annotations

import os
from enum import StrEnum

from tortoise import fields
from tortoise.indexes import Index
from tortoise.models import Model


class Mood(StrEnum):
    SAD = "sad"
    HAPPY = "happy"


class Tournament(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=100, unique=True, description="its name, in 'quotes'")
    created = fields.DatetimeField(auto_now_add=True)
    changed = fields.DatetimeField(auto_now=True)
    prize = fields.DecimalField(max_digits=10, decimal_places=2, default=0)
    day = fields.DateField(null=True)
    length = fields.TimeDeltaField(null=True)
    settings = fields.JSONField(default=dict)
    mood = fields.CharEnumField(Mood, default=Mood.HAPPY)
    logo = fields.BinaryField(null=True)
    weight = fields.FloatField(null=True)
    open = fields.BooleanField(default=True)
    if os.environ.get("WIDER"):
        city = fields.CharField(max_length=50, null=True)

    events: fields.ReverseRelation[Event]

    class Meta:
        table = "tournament"
        table_description = "Tournaments"
        ordering = ("id",)


class Event(Model):
    id = fields.UUIDField(primary_key=True)
    name = fields.TextField()
    order = fields.BigIntField(default=0)
    tournament = fields.ForeignKeyField("shop.Tournament", related_name="events", on_delete=fields.NO_ACTION)
    # Tortoise's migrations write CASCADE for these, whatever the model says.
    if not os.environ.get("MIGRATING"):
        participants = fields.ManyToManyField(
            "shop.Team", related_name="events", through="event_team", on_delete=fields.NO_ACTION
        )

    class Meta:
        table = "event"
        unique_together = (("name", "tournament"),)
        indexes = (Index(fields=("order", "name")),)


class Team(Model):
    id = fields.SmallIntField(primary_key=True, generated=True)
    name = fields.CharField(max_length=50, db_index=True)

    class Meta:
        table = "team"


class Address(Model):
    city = fields.CharField(max_length=50)
    team = fields.OneToOneField("shop.Team", related_name="address", primary_key=True, on_delete=fields.NO_ACTION)

    class Meta:
        table = "address"


class Node(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(max_length=50)
    parent = fields.ForeignKeyField("shop.Node", related_name="children", null=True, on_delete=fields.NO_ACTION)

    class Meta:
        table = "node"
