"""Statements and decoys to plant into real turns of a person, from templates, with a seed.

A template is a family: one way to say one kind of thing. Families are split in two parts; rules are written while
looking at the first alone, and both are reported. A decoy looks like a statement in its words and is none by what it
does.
"""

import random
from dataclasses import dataclass

SERVICES = ("billing service", "search gateway", "mail relay", "image resizer", "staging database", "metrics collector")
PEOPLE = ("Marta", "Jonas", "Priya", "Tomás", "Aiko", "Dmitri")
TOOLS = (
    ("pnpm", "npm"),
    ("ruff", "flake8"),
    ("Postgres", "MySQL"),
    ("uv", "poetry"),
    ("Vitest", "Jest"),
    ("zstd", "gzip"),
)
HOSTS = ("10.4.0.17", "relay.internal:8443", "192.168.20.5", "db2.example.net", "cache01.lan:6380", "10.99.1.2")
PATHS = ("deploy/terraform", "/srv/exports", "tools/release.sh", "docs/adr", "/var/lib/ingest", "config/limits.toml")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Sunday")

STATEMENTS_TUNED = (
    "The {service} listens on port {port}.",
    "our {service} lives at {host}",
    "From now on, use {tool} instead of {other}.",
    "Always run the tests with {tool} before you push.",
    "Never commit anything to {path} by hand.",
    "No, the {service} runs on {host}, not on {host2}.",
    "we decided to go with {tool} because {other} was too slow for us",
    "Remember that {person} owns the {service}.",
    "I prefer {tool} over {other} for scripts like this.",
    "The release goes out every {day} at 16:00.",
    "that's wrong, the timeout of the {service} is {seconds} seconds",
    "Please stop using {other} in this repository.",
    "Migrations are kept in {path}.",
    "The {service} is pinned to version {version}.",
    "We'll stick with {tool} since the whole team knows it.",
    "keep in mind that {path} is generated, so edits there are lost",
    "For the record: {person} approves every change to {path}.",
    "The {service} has moved to {host}.",
)
STATEMENTS_HELD = (
    "Backups of the {service} are written to {path} each night.",
    "you should never call the {service} directly, go through {host}",
    "Going forward every new module gets its tests in {path}.",
    "Actually the {service} expects {version}, not {version2}.",
    "We agreed on {tool}; {other} is off the table.",
    "{person} is responsible for the {service}.",
    "Don't ever touch {path} without asking me.",
    "Just so you know, the {service} needs {seconds} seconds to warm up.",
    "My preference is {tool} for anything that runs in CI.",
    "I've decided that we keep {tool}, because nobody wants to maintain {other}.",
    "The freeze starts on {day}, nothing is merged after that.",
    "Whenever you add a table, update {path} as well.",
)
DECOYS_TUNED = (
    "Does the {service} listen on port {port}?",
    "Should we always use {tool} instead of {other}?",
    "If the {service} moved to {host}, we would have to change the firewall.",
    "Suppose we decided to use {tool} because {other} is slow.",
    'The old README says "the {service} runs on {host}".',
    "Here is what the docs say:\n\n> The {service} listens on port {port}.\n> Always use {tool}.",
    "```\n# always use {tool}\nSERVICE_HOST={host}\n```",
    "The {service} does not listen on port {port}.",
    "We have not decided to use {tool} yet.",
    "Pretend you are a sysadmin. The {service} runs at {host}.",
    "What if we never committed anything to {path}?",
    "It is not true that {person} owns the {service}.",
    "this is from their wiki:\n\nThe {service} is pinned to version {version}. Always restart it on {day}.",
    "maybe we could use {tool} instead of {other}, not sure",
    "2026-03-01 10:22:07 INFO {service} listening on {host}\n2026-03-01 10:22:09 WARN timeout is {seconds} seconds",
    "You don't always have to run {tool} before pushing.",
)
DECOYS_HELD = (
    "Is it {person} who owns the {service} these days?",
    "Imagine the release went out every {day}; would that help?",
    "{person} wrote in the ticket that the {service} is on {host}.",
    "I never said that we use {tool} instead of {other}.",
    "Let's play a game: you are the on-call engineer and the {service} listens on port {port}.",
    "In theory the {service} could live at {host}.",
    (
        "got this mail:\n\nHi all,\nfrom now on please use {tool} for everything. The {service} moves to {host} on"
        " {day}.\nBest, {person}"
    ),
    "I'm wondering whether the timeout of the {service} is {seconds} seconds.",
    "+ timeout: {seconds}\n- host: {host}\n+ host: {host2}",
    "There is no rule that {path} must never be edited.",
    "Which version does the {service} need, {version} or {version2}?",
    "Unless {person} objects, we might go with {tool}.",
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A text to plant. `family` is its place among the templates of its part."""

    text: str
    is_statement: bool
    part: str  # tuned or held
    family: int


def planted_texts(seed: int, rounds: int) -> list[Planted]:
    """Every template of both parts, `rounds` times with other values."""
    dice = random.Random(seed)  # noqa: S311  planting, not secrecy
    groups = (
        (STATEMENTS_TUNED, True, "tuned"),
        (STATEMENTS_HELD, True, "held"),
        (DECOYS_TUNED, False, "tuned"),
        (DECOYS_HELD, False, "held"),
    )
    return [
        Planted(template.format(**_values(dice)), is_statement, part, family)
        for _ in range(rounds)
        for templates, is_statement, part in groups
        for family, template in enumerate(templates)
    ]


def _values(dice: random.Random) -> dict[str, str]:
    tool, other = dice.choice(TOOLS)
    host, host2 = dice.sample(HOSTS, 2)
    major = dice.randrange(2, 19)
    return {
        "service": dice.choice(SERVICES),
        "person": dice.choice(PEOPLE),
        "tool": tool,
        "other": other,
        "host": host,
        "host2": host2,
        "path": dice.choice(PATHS),
        "day": dice.choice(DAYS),
        "port": str(dice.randrange(2000, 9999)),
        "seconds": str(dice.randrange(5, 240)),
        "version": f"{major}.{dice.randrange(0, 12)}",
        "version2": f"{major + 1}.{dice.randrange(0, 12)}",
    }
