"""The settings of a team's server: one TOML file, and environment variables for what is secret."""

import os
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict

from parts.team.errors import Unfit

Number = Annotated[int, msgspec.Meta(ge=1)]
Dsn = Annotated[str, "as libpq reads it"]
KINDS: dict[Any, str] = {
    Number: "a whole number from 1 on",
    bool: "true or false",
    str: "text",
    Dsn: "an address of a database, such as postgresql://name@host/team",
    Path: "the name of a folder",
}


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """What an operator sets. A variable ONEIROS_TEAM_NAME goes before the file's `name`."""

    dsn: Dsn = ""  # of the application's role; libpq's form or a URL
    owner_dsn: Dsn = ""  # of the role that owns the tables: for migrations and tenants, never for questions
    folder: Path = Path("team-data")  # of repositories and what is made of them; beside the file, if not absolute
    model: str = ""  # of memory_server's catalogue; empty: its default
    programs: str = ""  # folder of pg_dump and pg_restore; empty: they are found as any program
    connections: Number = 8  # to the database, of one process
    listen: str = "127.0.0.1:8420"  # an IP address and a port; beyond the machine only with TLS, or proxy_has_tls
    tls_certificate: str = ""  # a PEM file; with tls_key
    tls_key: str = ""
    proxy_has_tls: bool = False  # only a proxy that brings TLS can reach `listen`
    public_url: str = ""  # what clients call the server, such as https://memory.example.org
    metrics_listen: str = ""  # where Prometheus asks, such as 127.0.0.1:9464; empty: nowhere
    questions_a_minute: Number = 120  # of one token, where its tenant has no number of its own
    passages: Number = 200_000  # of one tenant, the same
    write_bytes: Number = 1 << 20  # of one request
    most_requests: Number = 200  # answered at a time by one process; beyond, 503
    stop_seconds: Number = 20  # for what was begun when the server is told to end
    identity_issuer: str = ""  # of an identity provider whose tokens are taken beside those that an admin makes
    identity_audience: str = ""  # which it gives to tokens for this server, and to no others
    identity_keys: str = ""  # its keys (JWKS): a file, or an https:// address that is asked
    tenant_claim: str = "tenant"  # the claim that names the tenant; people must not be able to change theirs
    person_claim: str = "sub"
    scope_prefix: str = "oneiros:"  # before `read` and `publish` among the scopes of a token

    @property
    def repositories(self) -> Path:
        """The folder of the tenants' repositories."""
        return self.folder / "repositories"

    def work(self, tenant: int) -> Path:
        """The folder in which a tenant's commits are indexed: derived, with the vectors of all its texts."""
        return self.folder / "work" / str(tenant)


def read_settings(file: Path | None = None) -> TeamSettings:
    """The settings of a file and of the environment; `folder` absolute. Raises Unfit for what it does not know."""
    values: dict[str, Any] = {}
    known = {one.name: one for one in fields(TeamSettings)}
    if file is not None:
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise Unfit(f"the settings cannot be read ({error})", where=file) from error
        for name in values.keys() - known.keys():
            raise Unfit(f"there is no setting {name!r}", where=file, remedy=f"Known are: {', '.join(known)}")
    variables = {name: os.environ.get(f"ONEIROS_TEAM_{name.upper()}") for name in known}
    values |= {name: value for name, value in variables.items() if value}
    for name, value in values.items():
        kind = known[name].type
        try:
            values[name] = msgspec.convert(value, kind, strict=False, dec_hook=lambda kind, value: kind(value))
            if kind is Dsn:
                conninfo_to_dict(values[name])
        except (msgspec.ValidationError, psycopg.ProgrammingError):  # its words could quote what is secret
            where = f"ONEIROS_TEAM_{name.upper()}" if variables[name] else file
            raise Unfit(f"{name} must be {KINDS[kind]}", where=where, remedy="See docs/team.md") from None
    found = TeamSettings(**values)
    return replace(found, folder=(file.parent if file else Path()).resolve() / found.folder)
