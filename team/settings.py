"""The settings of a team's server: one TOML file, and environment variables for what is secret."""

import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from team.errors import Unfit


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """What an operator sets. A variable ONEIROS_TEAM_NAME goes before the file's `name`."""

    dsn: str = ""  # of the application's role; libpq's form or a URL
    owner_dsn: str = ""  # of the role that owns the tables: for migrations and tenants, never for questions
    folder: Path = Path("team-data")  # repositories of the tenants and the folders in which they are indexed
    model: str = ""  # of memory_server's catalogue; empty: its default
    connections: int = 8  # to the database, of one process


def read_settings(file: Path | None = None) -> TeamSettings:
    """The settings of a file and of the environment. Raises Unfit for what it does not know."""
    told: dict[str, object] = {}
    known = {one.name: one for one in fields(TeamSettings)}
    if file is not None:
        try:
            told = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise Unfit(f"the settings cannot be read ({error})", where=file) from error
        for name in told.keys() - known.keys():
            raise Unfit(f"there is no setting {name!r}", where=file, remedy=f"Known are: {', '.join(known)}")
    for name in known:
        if value := os.environ.get(f"ONEIROS_TEAM_{name.upper()}"):
            told[name] = value
    return TeamSettings(**{name: _fitting(name, value) for name, value in told.items()})  # type: ignore[arg-type]


def _fitting(name: str, value: object) -> object:
    wanted = type(getattr(TeamSettings(), name))
    try:
        return Path(str(value)) if issubclass(wanted, Path) else wanted(value)
    except (TypeError, ValueError) as error:
        raise Unfit(
            f"{name} is {value!r}", remedy=f"Give a value of the kind of {getattr(TeamSettings(), name)!r}"
        ) from error
