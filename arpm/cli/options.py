"""What commands share: the global options, opening the service, and naming a timeline, a config or a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from arpm.cli.output import note
from arpm.errors import InputError, NotFoundError
from arpm.ids import is_id
from arpm.settings import Settings, load_settings
from governance.config import PRESETS, ConfigError, GovernanceConfig, parse_setting

if TYPE_CHECKING:
    from arpm.service import Service

json_option: Callable[..., Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
preset_option: Callable[..., Any] = click.option(
    "--preset", "preset_name", type=click.Choice(list(PRESETS)), help="Governance preset; `arpm config` explains each."
)


@dataclass(frozen=True, slots=True)
class Options:
    """The global options. Settings are read when a command asks for them, so that --help never fails."""

    logs: Path | None
    config: Path | None

    def settings(self) -> Settings:
        """The settings in force. Raises InputError naming the place."""
        environ = dict(os.environ) if self.config is None else {**os.environ, "ARPM_CONFIG": str(self.config)}
        settings = load_settings(environ)
        return settings if self.logs is None else replace(settings, logs=self.logs)

    @contextmanager
    def service(self, settings: Settings | None = None) -> Iterator[Service]:
        """The service on the logs folder, closed at the end. Ledgers that are damaged are named on stderr."""
        # Imported here: the indexes and the embedder's runtime take a second that --help need not wait for.
        from arpm.service import Service

        with Service(settings or self.settings()) as service:
            for damage in service.damaged:
                note(f"Not loaded: {damage.text}")
            yield service


def found_timeline(service: Service, id: str | None) -> str:
    """The timeline named, else the one that was talked on last. Raises NotFoundError when there is none."""
    if id is not None:
        return service.timeline(id).id
    rows = service.timelines()
    if not rows:
        raise NotFoundError("There is no timeline yet. `arpm chat --user NAME --character NAME` begins one.")
    latest = max(rows, key=lambda row: _last_used(service, row.id))
    if len(rows) > 1:
        note(f"Timeline {latest.id}: {latest.user} with {latest.character} (the one used last).")
    return latest.id


def timeline_of_pair(service: Service, user: str, character: str) -> str | None:
    """The newest timeline of that user with that character, if there is one."""
    pair = tuple(" ".join(name.split()) for name in (user, character))
    return next((row.id for row in service.timelines() if (row.user, row.character) == pair), None)


def _last_used(service: Service, timeline: str) -> datetime:
    turns = service.catalogue.turns(timeline, last=1)
    return turns[-1].at if turns else service.catalogue.timeline(timeline).at


def is_timeline(word: str) -> bool:
    """Whether a word of a command line is the id of a timeline."""
    return is_id(word, "t")


def changed_config(base: GovernanceConfig, preset_name: str | None, changes: Sequence[str]) -> GovernanceConfig:
    """`base` or the preset, with the KEY=VALUE changes made. Raises a usage error naming the key."""
    config = PRESETS[preset_name].config if preset_name else base
    try:
        return config.changed(dict(map(parse_setting, changes)))
    except ConfigError as error:
        raise click.BadParameter(f"{error}.", param_hint="--set") from None


def time_in(text: str, timezone: str) -> datetime:
    """An ISO 8601 time, in `timezone` where it names no offset. Raises InputError."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is no ISO 8601 time; write 2026-03-01 or 2026-03-01T18:30+08:00.") from None
    return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(timezone))


def read_file(path: Path, limit: int) -> bytes:
    """The bytes of a file of at most `limit` bytes. Raises InputError without reading a larger one."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > limit:
        raise InputError(
            f"{path} has {max(size, len(data)):,} bytes; the limit is {limit:,} bytes. "
            "Split it, or raise upload_limit in arpm.toml."
        )
    return data
