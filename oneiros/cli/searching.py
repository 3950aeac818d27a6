"""Asking: `recall`, `search`, `exact`. The daemon answers; it is started where none runs."""

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from memory_server.document import TYPES, UNAPPROVED, Answer, Hit
from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import escape_line, escape_text
from memory_server.faces.answer_text import (
    BOLD,
    answer_json,
    explain_answer,
    format_remark,
    format_standing,
    format_type,
)
from memory_server.fields import FIELDS, Field
from memory_server.language.shortening import shorten_passage
from memory_server.language.words import content_words
from memory_server.search.precedence import is_elsewhere
from memory_server.search.question import DEFAULT_LIMIT, Question, Search, build_filter, parse_query, with_commands
from oneiros.cli.terminal.output import AsJson, NoColor, Screen, data_json, name_typed_project, see_stdout, show, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment, find_top

FENCE = re.compile(r"\s*(?:```|~~~)")
HEADING = re.compile(r"\s*#{1,6}\s+(.*?)[:.\s]*")
MORE_PLACES = 4  # of a file, behind the first
LINE_CHARS = 320  # of a passage, around the words that were looked up; --verbose shows it whole

Words = Annotated[list[str], typer.Argument(help="words, a question, or the query syntax", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", "-n", help="most hits")]
PerSource = Annotated[int, typer.Option("--per-source", help="most passages of one file")]
SAID_OF_TYPE = f"; or only what sessions said of it: {', '.join(TYPES)}"
Raw = Annotated[bool, typer.Option("--raw", help="archived turns too, as layer:raw")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="whole passages, and all that is known of them")]
Explain = Annotated[bool, typer.Option("--explain", help="scores of both arms and the words looked up")]
NoDaemon = Annotated[bool, typer.Option("--no-daemon", help="open the memory here; start no daemon")]

COMMANDS = {search.command: search for search in Search}
LEGEND = """\b
How sure a hit is: sure (an approved topic answers, or it stands there as written),
likely (it fits well), perhaps (it is near). decides: believe it over what stands below.
unapproved: a topic that nobody approved yet; the last line says how.
held until, holds from: a topic outside of its interval; it decides nothing.
you, Claude, agreed, done, dropped: who said it, and how it ended.
"""
COLOURS = {"sure": "green", "likely": "yellow", "perhaps": "bright_black"}
FILTERS_KEY = "oneiros.filters"  # where the context of a command keeps what it was told to filter by


class SearchCommand(TyperCommand):
    """A command with an option for every filter."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options in the order in which they are shown: the filters before what is said of the answer."""
        params = super().get_params(ctx)
        at = next(place for place, one in enumerate(params) if one.name == "raw")
        return [*params[:at], *map(filter_option, FIELDS), *params[at:]]


def filter_option(field: Field) -> TyperOption:
    """The option of a filter; what it is told is kept in the command's context."""

    def keep(context: typer.Context, _: typer.CallbackParam, value: str | Sequence[str] | None) -> None:
        if value and field.name == "project":
            value = [name_typed_project(context, one) for one in value]
        if value:
            context.meta.setdefault(FILTERS_KEY, {})[field.name] = [value] if isinstance(value, str) else value

    return TyperOption(
        param_decls=[field.name, f"--{field.name.replace('_', '-')}"],
        type=str,
        multiple=not field.is_day,
        expose_value=False,
        callback=keep,
        help=field.help + SAID_OF_TYPE * (field.name == "type"),
        show_default=False,
    )


FILTERS = textwrap.wrap(" ".join(f"{field.name}:{field.example}" for field in FIELDS), break_on_hyphens=False)
SYNTAX = f"""\b
Query syntax:
  "a phrase"  prefix*  a AND b  a OR b  NOT a  ( ... )
{textwrap.indent(chr(10).join(FILTERS), "  ")}
"""


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group: three names of one."""
    app.command(
        "recall",
        cls=SearchCommand,
        help="Find by meaning and words together: ask this first.",
        epilog=_ending("oneiros recall 'why do we pin the workers' --type decision --project shop"),
    )(search)
    app.command(
        "search",
        cls=SearchCommand,
        help="Find by meaning alone, whatever words are used.",
        epilog=_ending("oneiros search 'what happens after a crash' --layer topic"),
    )(search)
    app.command(
        "exact",
        cls=SearchCommand,
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
    raw: Raw = False,
    no_daemon: NoDaemon = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
    explain: Explain = False,
    no_color: NoColor = False,
) -> None:
    """Asks, by the search that the command's name means."""
    filters: Mapping[str, Sequence[str]] = context.meta.get(FILTERS_KEY, {})
    types = select_types(filters.get("type", ()))
    question = parse_query(
        " ".join(words),
        COMMANDS[context.command.name or ""],
        beside=build_filter({**filters, "type": ()} if types else filters),
        types=types,
        limit=limit,
        per_source=per_source,
        include_raw=raw,
    )
    answer = ask_memory(context.obj, question, no_daemon=no_daemon, both=True)
    if as_json:
        more = {"explain": explain_answer(answer)} if explain else {}
        data_json({"query": question.full_query, **answer_json(answer), **more})
    else:
        screen = see_stdout(no_color=no_color)
        wanted = frozenset(content_words(question.text)) if screen.has_colour else frozenset[str]()
        root, is_exact = context.obj.choice.root.path, question.search is Search.EXACT
        print_answer(answer, screen, wanted, root, is_exact=is_exact, verbose=verbose, explain=explain)
    if not answer.hits:
        raise typer.Exit(1)


def ask_memory(environment: Environment, question: Question, *, no_daemon: bool, both: bool = False) -> Answer:
    """The daemon's answer; that of the memory itself where none is wanted or none can be had.

    `both`: with the account's memory, where the one that is meant is a project's.
    """
    root, folder = environment.choice.root, folder_of_project(environment, question)
    client = Client.of(environment)
    if not no_daemon and root.index_page.is_file() and _starts(client):
        with suppress(DaemonLost):  # it ended meanwhile
            return client.search(question, both=both, folder=folder)
    from oneiros.cli.opened import answer_locally

    return answer_locally(environment, question, both=both, folder=folder)


def folder_of_project(environment: Environment, question: Question) -> str:
    """Where the terminal stands, if in a work tree beside the memory; empty where the question names a project."""
    folder, root = environment.working_folder, environment.choice.root
    is_beside = not question.filter.projects and find_top(folder) is not None and not folder.is_relative_to(root.path)
    return str(folder) if is_beside else ""


def _starts(client: Client) -> bool:
    """Whether the daemon runs, by now; says why where it does not start."""
    try:
        client.start()
    except NeedsRepair as error:
        talk(f"{error} Answering without it.")
        return False
    return True


def select_types(kinds: Sequence[str]) -> list[str]:
    """The recorder's types that are asked for; none where all are types of frontmatter."""
    found = [kind for kind in kinds if kind in TYPES]
    if found and len(found) < len(kinds):
        raise UsageError(f"--type {found[0]} goes with its own kind alone", remedy=f"Choose of: {', '.join(TYPES)}")
    return found


def print_answer(
    answer: Answer,
    screen: Screen,
    wanted: frozenset[str],
    root: Path,
    *,
    is_exact: bool,
    verbose: bool,
    explain: bool,
) -> None:
    """Hits on stdout, best first, two lines each: what is said, then how sure and where. What to do next on stderr.

    A hit of another project than the one in which it is told says so. `wanted`: stems of the question, whose words
    stand out. `root`: of the memory that was asked. `is_exact`: further places of a file hold the words, too.
    """
    for number, hit in enumerate(answer.hits, start=1):
        first, *others = _passage(hit) if verbose else [_shorten_passage(hit, answer.terms)]
        show(f"{number:>2}  {_mark_words(first, wanted, screen)}")
        for line in others:
            show(f"    {_mark_words(line, wanted, screen)}")
        for line in [
            _place(hit, answer.here, screen, root) + (_also(hit) if is_exact and not verbose else ""),
            *(_format_details(hit) if verbose else ()),
            *(_reasons(hit) if explain else ()),
        ]:
            show(f"      {line}")
    if not answer.hits:
        talk(with_commands(format_remark(answer)) or "Nothing found.")
        return
    first_hit = answer.hits[0]
    count = f"{len(answer.hits)} hit{'s' if len(answer.hits) > 1 else ''}"
    if explain and answer.terms:
        talk(f"Words looked up: {', '.join(answer.terms)}")
    note = f" {with_commands(remark)}" if (remark := format_remark(answer)) else ""
    talk(
        f"{count}.{note} Read on: oneiros read {shlex.quote(escape_line(f'{first_hit.path}:{first_hit.lines.first}'))}"
    )


def _mark_words(text: str, wanted: frozenset[str], screen: Screen) -> str:
    def mark(word: re.Match[str]) -> str:
        return word[0] if wanted.isdisjoint(content_words(word[0])) else screen.style(word[0], bold=True)

    return re.sub(r"\w+", mark, text) if wanted else text


def _shorten_passage(hit: Hit, terms: tuple[str, ...]) -> str:
    """What stands around the words that were looked up, on one line without Markdown's blocks."""
    return " ".join(escape_text(shorten_passage(_flatten(hit.passage), terms, LINE_CHARS)).split())


def _flatten(text: str) -> str:
    """A text without fences and, outside of code, without the signs of headings and bold type."""
    lines, is_code = [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            is_code = not is_code
        elif is_code:
            lines.append(line)
        elif heading := HEADING.fullmatch(line):
            lines.append(f"{heading[1]}:")
        else:
            lines.append(BOLD.sub(r"\1", line))
    return "\n".join(lines)


def _passage(hit: Hit) -> list[str]:
    return [line for line in escape_text(hit.passage).split("\n") if line.strip()] or [""]


def _place(hit: Hit, here: str, screen: Screen, root: Path) -> str:
    """How sure, where, when and of what, and what else must be known before it is believed."""
    marks = [
        f"of {escape_line(hit.project)}" if here and is_elsewhere(hit, here) else "",
        format_type(hit),
        format_standing(hit),
        UNAPPROVED if hit.unapproved else "",
        hit.outside,
        f"amended {escape_line(hit.amended)}" if hit.amended else "",
        f"newer {escape_line(hit.newer)}" if hit.newer else "",
        f"you rejected this on {hit.rejected}" if hit.rejected else "",
        f"replaced by {escape_line(hit.replaced_by)}" if hit.replaced_by else "",
    ]
    place = screen.style(f"{escape_line(hit.path)}:{hit.lines}", fg="cyan")
    file = root / hit.path
    date = hit.date.isoformat() if hit.date else "undated"
    first = [
        screen.style(f"{hit.certainty}, decides" if hit.decides else hit.certainty, fg=COLOURS[hit.certainty]),
        screen.link(place, file) if not hit.memory and file.is_file() else place,
        date,
        hit.memory,
        escape_line(hit.title),
    ]
    return "  ".join(filter(None, [*first, *marks]))


def _also(hit: Hit) -> str:
    """Where else in its file the words stand: MORE_PLACES, and whether there are more."""
    places = [*map(str, sorted(hit.more_lines[:MORE_PLACES])), *(["…"] if len(hit.more_lines) > MORE_PLACES else [])]
    return f"  also {', '.join(places)}" if places else ""


def _format_details(hit: Hit) -> Iterator[str]:
    """What stands behind a hit: its layer and project, and further places of its source."""
    yield "  ".join(filter(None, [f"{hit.layer} (rank {hit.layer.rank})", escape_line(hit.project)]))
    if hit.more_lines:
        yield f"also {', '.join(map(str, hit.more_lines))}"


def _reasons(hit: Hit) -> Iterator[str]:
    yield "; ".join([f"score {hit.score:.2f}", *(f"{reason.arm}: {escape_text(reason.detail)}" for reason in hit.why)])
    if hit.parts:
        yield "  ".join(f"{name} {score:.3f}" for name, score in hit.parts.items())
