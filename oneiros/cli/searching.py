"""Asking: `recall`, `search`, `exact`. The daemon answers; it is started where none runs."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated

import typer

from memory_server.document import TYPES, UNAPPROVED, Answer, Hit
from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import shown, shown_line
from memory_server.faces.answer_text import answer_json, explained, remark_of, standing_shown
from memory_server.language.sentences import shortened
from memory_server.search.precedence import is_elsewhere
from memory_server.search.query import filter_of, parse_query
from memory_server.search.question import DEFAULT_LIMIT, Question, Search, with_commands
from oneiros.cli.terminal.output import AsJson, NoColor, data, data_json, styler, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment, top_of

SAID_CHARS = 320  # of a passage, around the words that were looked up; --verbose shows it whole

Words = Annotated[list[str], typer.Argument(help="words, a question, or the query syntax", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", "-n", help="most hits")]
PerSource = Annotated[int, typer.Option("--per-source", help="most passages of one file")]
Narrow = Annotated[list[str] | None, typer.Option(show_default=False)]
Day = Annotated[str | None, typer.Option(show_default=False)]
TYPE_HELP = f"a type of frontmatter, such as semantic; or only what sessions said of it: {', '.join(TYPES)}"
Kinds = Annotated[list[str] | None, typer.Option("--type", help=TYPE_HELP, show_default=False)]
Raw = Annotated[bool, typer.Option("--raw", help="archived turns too, as layer:raw")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="whole passages, and all that is known of them")]
Explain = Annotated[bool, typer.Option("--explain", help="scores of both arms and the words looked up")]
NoDaemon = Annotated[bool, typer.Option("--no-daemon", help="open the memory here; start no daemon")]

COMMANDS = {"recall": Search.RECALL, "search": Search.MEANING, "exact": Search.EXACT}
LEGEND = """\b
How sure a hit is: sure (an approved topic answers, or it stands there as written),
likely (it fits well), perhaps (it is near). decides: believe it over what stands below.
unapproved: a topic that nobody approved yet; the last line says how.
held until, holds from: a topic outside of its interval; it decides nothing.
you, Claude, agreed, done, dropped: who said it, and how it ended.
"""
SYNTAX = """\b
Query syntax:
  "a phrase"  prefix*  a AND b  a OR b  NOT a  ( ... )
  layer:topic topic:NAME namespace:NAME project:NAME machine:NAME agent:NAME
  entity:NAME type:semantic tag:NAME after:2026-01-31 before:2026-03
"""


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group: three names of one."""
    app.command(
        "recall",
        help="Find by meaning and words together: ask this first.",
        epilog=_ending("oneiros recall 'why do we pin the workers' --type decision --project shop"),
    )(search)
    app.command(
        "search",
        help="Find by meaning alone, whatever words are used.",
        epilog=_ending("oneiros search 'what happens after a crash' --layer topic"),
    )(search)
    app.command(
        "exact",
        help="Find words as written: names, paths, errors, numbers. Every word or quoted phrase must stand there.",
        epilog=_ending("oneiros exact '\"exit code\" NOT windows'"),
        context_settings={"ignore_unknown_options": True},  # `--flag` is something to look for
    )(search)


def _ending(example: str) -> str:
    return f"{SYNTAX}\n{LEGEND}\n\b\nExample: {example}"


def search(
    context: typer.Context,
    words: Words,
    limit: Limit = DEFAULT_LIMIT,
    per_source: PerSource = 1,
    layer: Narrow = None,
    topic: Narrow = None,
    project: Narrow = None,
    machine: Narrow = None,
    namespace: Narrow = None,
    agent: Narrow = None,
    kind: Kinds = None,
    tag: Narrow = None,
    entity: Narrow = None,
    after: Day = None,
    before: Day = None,
    raw: Raw = False,
    no_daemon: NoDaemon = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
    explain: Explain = False,
    no_color: NoColor = False,
) -> None:
    """Asks, by the search that the command's name means."""
    types = recorded_types(kind or ())
    lists = {"layer": layer, "topic": topic, "namespace": namespace, "project": project, "machine": machine}
    lists |= {"agent": agent, "tag": tag, "entity": entity}
    fields = {"type": () if types else kind, **lists, "after": after and [after], "before": before and [before]}
    question = parse_query(
        " ".join(words),
        COMMANDS[context.command.name or ""],
        beside=filter_of({field: values for field, values in fields.items() if values}),
        types=types,
        limit=limit,
        per_source=per_source,
        include_raw=raw,
    )
    answer = asked(context.obj, question, no_daemon=no_daemon, both=True)
    if as_json:
        more = {"explain": explained(answer)} if explain else {}
        data_json({"query": question.asked, **answer_json(answer), **more})
    else:
        print_answer(answer, styler(no_color=no_color), verbose=verbose, explain=explain)
    if not answer.hits:
        raise typer.Exit(1)


def asked(environment: Environment, question: Question, *, no_daemon: bool, both: bool = False) -> Answer:
    """The daemon's answer; that of the memory itself where none is wanted or none can be had.

    `both`: with the account's memory, where the one that is meant is a project's.
    """
    root, folder = environment.choice.root, folder_of_project(environment, question)
    client = Client.of(environment)
    if not no_daemon and root.index_page.is_file() and _starts(client):
        with suppress(DaemonLost):  # it ended meanwhile
            return client.search(question, both=both, folder=folder)
    from oneiros.cli.opened import answer_here

    return answer_here(environment, question, both=both, folder=folder)


def folder_of_project(environment: Environment, question: Question) -> str:
    """Where the terminal stands, if in a work tree beside the memory; empty where the question names a project."""
    folder, root = environment.working_folder, environment.choice.root
    is_told = not question.filter.projects and top_of(folder) is not None and not folder.is_relative_to(root.path)
    return str(folder) if is_told else ""


def _starts(client: Client) -> bool:
    """Whether the daemon runs, by now; says why where it does not start."""
    try:
        client.start()
    except NeedsRepair as error:
        talk(f"{error} Answering without it.")
        return False
    return True


def recorded_types(kinds: Sequence[str]) -> list[str]:
    """The recorder's types that are asked for; none where all are types of frontmatter."""
    found = [kind for kind in kinds if kind in TYPES]
    if found and len(found) < len(kinds):
        raise UsageError(f"--type {found[0]} goes with its own kind alone", remedy=f"Choose of: {', '.join(TYPES)}")
    return found


def print_answer(answer: Answer, style: Callable[..., str], *, verbose: bool, explain: bool) -> None:
    """Hits on stdout, best first, two lines each: what is said, then how sure and where. What to do next on stderr.

    A hit of another project than the one in which it is told says so.
    """
    for number, hit in enumerate(answer.hits, start=1):
        first, *others = _passage(hit) if verbose else [_said(hit, answer.terms)]
        data(f"{number:>2}  {first}")
        for line in others:
            data(f"    {line}")
        for line in [
            _place(hit, answer.here, style),
            *(_known(hit) if verbose else ()),
            *(_reasons(hit) if explain else ()),
        ]:
            data(style(f"      {line}", dim=True))
    if not answer.hits:
        talk(with_commands(remark_of(answer)) or "Nothing found.")
        return
    first_hit = answer.hits[0]
    count = f"{len(answer.hits)} hit{'s' if len(answer.hits) > 1 else ''}"
    if explain and answer.terms:
        talk(f"Words looked up: {', '.join(answer.terms)}")
    note = f" {with_commands(remark)}" if (remark := remark_of(answer)) else ""
    talk(f"{count}.{note} Read on: oneiros read {shlex.quote(shown_line(f'{first_hit.path}:{first_hit.lines.first}'))}")


def _said(hit: Hit, terms: tuple[str, ...]) -> str:
    return " ".join(shown(shortened(hit.passage, terms, SAID_CHARS)).split())


def _passage(hit: Hit) -> list[str]:
    return [line for line in shown(hit.passage).split("\n") if line.strip()] or [""]


def _place(hit: Hit, here: str, style: Callable[..., str]) -> str:
    """How sure, where, when and of what, and what else must be known before it is believed."""
    marks = [
        f"of {shown_line(hit.project)}" if here and is_elsewhere(hit, here) else "",
        hit.type if hit.type in TYPES else "",
        standing_shown(hit),
        UNAPPROVED if hit.unapproved else "",
        hit.outside,
        f"amended {shown_line(hit.amended)}" if hit.amended else "",
        f"replaced by {shown_line(hit.replaced_by)}" if hit.replaced_by else "",
    ]
    place = style(f"{shown_line(hit.path)}:{hit.lines}", bold=True)
    date = hit.date.isoformat() if hit.date else "undated"
    told = [
        f"{hit.certainty}, decides" if hit.decides else hit.certainty,
        place,
        date,
        hit.memory,
        shown_line(hit.title),
    ]
    return "  ".join(filter(None, [*told, *marks]))


def _known(hit: Hit) -> Iterator[str]:
    """What stands behind a hit: its layer and project, and further places of its source."""
    yield "  ".join(filter(None, [f"{hit.layer} (rank {hit.layer.rank})", shown_line(hit.project)]))
    if hit.more_lines:
        yield f"also {', '.join(map(str, hit.more_lines))}"


def _reasons(hit: Hit) -> Iterator[str]:
    yield "; ".join([f"score {hit.score:.2f}", *(f"{reason.arm}: {shown(reason.detail)}" for reason in hit.why)])
    if hit.parts:
        yield "  ".join(f"{name} {score:.3f}" for name, score in hit.parts.items())
