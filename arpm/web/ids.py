"""Ids in addresses: an address with anything else in their place does not exist (404), so no id ever climbs a path."""

from __future__ import annotations

from flask import Flask
from werkzeug.routing import BaseConverter, Map


class IdConverter(BaseConverter):
    """`<id('t'):timeline>`: an id with that prefix, as `arpm.ids.new_id` makes it."""

    def __init__(self, map: Map, prefix: str) -> None:
        super().__init__(map)
        self.regex = f"{prefix}-[0-9a-f]{{12}}"


class TurnConverter(BaseConverter):
    """`<turn:reference>`: the event id of a turn, or TIMELINE:ROUND."""

    regex = "[0-9a-f]{32}|t-[0-9a-f]{12}:[0-9]{1,9}"


class LedgerConverter(BaseConverter):
    """`<ledger:name>`: a timeline's id, or `knowledge`."""

    regex = "t-[0-9a-f]{12}|knowledge"


class MemoryConverter(BaseConverter):
    """`<memory:id>`: an experience, or a chunk of a document as DOCUMENT/NUMBER."""

    part_isolating = False
    regex = "m-[0-9a-f]{12}|d-[0-9a-f]{12}/[0-9]{1,6}"


class NumberConverter(BaseConverter):
    """`<number:n>`: a whole number from 0 that fits everywhere."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        return int(value)


def init(app: Flask) -> None:
    """Make the converters known to `app`'s routes."""
    app.url_map.converters |= {
        "id": IdConverter,
        "turn": TurnConverter,
        "ledger": LedgerConverter,
        "memory": MemoryConverter,
        "number": NumberConverter,
    }
