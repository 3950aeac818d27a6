"""Asking and reading: `search`, `exact`, `recall`, `read`, `topics`."""

import re
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from memory_server.answer_text import answer_json, explained, shortened
from memory_server.document import TYPES, Answer, Hit
from memory_server.errors import UsageError
from memory_server.escaping import shown, shown_line
from memory_server.search.query import filter_of, parse_query
from memory_server.search.question import DEFAULT_LIMIT, Question, Search
from oneiros.cli.output import data, data_json, say_behind, styled, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment

PASSAGE_CHARS = 360
PLACE = re.compile(r"(?P<name>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")

Words = Annotated[list[str], typer.Argument(help="words, a question, or the query syntax", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", "-n", help="most hits")]
PerSource = Annotated[int, typer.Option("--per-source", help="most passages of one file")]
Narrow = Annotated[list[str] | None, typer.Option(show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout")]
Explain = Annotated[bool, typer.Option("--explain", help="scores of both arms and the words looked up")]
TYPE_HELP = f"a type of frontmatter, such as semantic; or only what sessions said of it: {', '.join(TYPES)}"
NoColor = Annotated[bool, typer.Option("--no-color", help="plain text")]

SYNTAX = """\b
Query syntax:
  "a phrase"  prefix*  a AND b  a OR b  NOT a  ( ... )
  layer:topic topic:NAME project:NAME machine:NAME type:semantic tag:NAME
  after:2026-01-31 before:2026-03
"""


def add_commands(app: typer.Typer, environment: Environment) -> None:
    """Adds the commands of this group."""

    def searching_command(
        name: str, search: Search, help_text: str, example: str, *, takes_flags: bool = False
    ) -> None:
        def command(
            words: Words,
            limit: Limit = DEFAULT_LIMIT,
            per_source: PerSource = 1,
            layer: Narrow = None,
            topic: Narrow = None,
            project: Narrow = None,
            machine: Narrow = None,
            kind: Annotated[list[str] | None, typer.Option("--type", help=TYPE_HELP, show_default=False)] = None,
            tag: Narrow = None,
            after: Annotated[str | None, typer.Option(show_default=False)] = None,
            before: Annotated[str | None, typer.Option(show_default=False)] = None,
            raw: Annotated[bool, typer.Option("--raw", help="archived turns too, as layer:raw")] = False,
            as_json: AsJson = False,
            explain: Explain = False,
            no_color: NoColor = False,
        ) -> None:
            types = recorded_types(kind or ())
            kinds = [] if types else kind
            lists = {"layer": layer, "topic": topic, "project": project, "machine": machine, "type": kinds, "tag": tag}
            beside = filter_of({field: values or () for field, values in lists.items()} | days_of(after, before))
            text = " ".join(words)
            question = parse_query(
                text, search, beside=beside, types=types, limit=limit, per_source=per_source, include_raw=raw
            )
            answer = asked(environment, question)
            if as_json:
                more = {"explain": explained(answer)} if explain else {}
                data_json({"query": question.asked, **answer_json(answer), **more})
            else:
                print_answer(answer, styled(no_color=no_color), explain=explain)
            if not answer.hits:
                raise typer.Exit(1)

        settings = {"ignore_unknown_options": takes_flags}
        app.command(name, help=help_text, epilog=f"{SYNTAX}\n\b\nExample: {example}", context_settings=settings)(
            command
        )

    searching_command(
        "recall",
        Search.RECALL,
        "Find by meaning and words together; the best first answer to a question.",
        "oneiros recall 'why do we pin the workers' --type decision --project shop",
    )
    searching_command(
        "search",
        Search.MEANING,
        "Find by meaning alone, whatever words are used.",
        "oneiros search 'what happens after a crash' --layer topic",
    )
    searching_command(
        "exact",
        Search.EXACT,
        "Find every word or quoted phrase as written: names, paths, errors, numbers.",
        "oneiros exact '\"exit code\" NOT windows'",
        takes_flags=True,  # `--flag` is something to look for
    )

    @app.command(epilog="\b\nExample: oneiros read mail:12-30")
    def read(
        place: Annotated[str, typer.Argument(help="a topic, a path, with lines if wanted: mail, mail:12, mail:12-30")],
        as_json: AsJson = False,
    ) -> None:
        """Print a topic or session, or lines of it."""
        match = PLACE.fullmatch(place)
        if match is None:
            raise UsageError("the name is empty", remedy="`oneiros topics` lists the names")
        first = int(match["first"] or 1)
        last = int(match["last"]) if match["last"] else None
        with environment.open_memory() as memory:
            reading = memory.read(match["name"], first, last)
        if as_json:
            lines = {"first_line": reading.lines.first, "last_line": reading.lines.last, "of_lines": reading.last_line}
            data_json({"path": reading.path, "layer": reading.layer.value, **lines, "text": reading.text})
            return
        data(shown(reading.text).rstrip("\n"))
        talk(f"{reading.path}:{reading.lines} of {reading.last_line} lines, layer {reading.layer.rank}")

    @app.command(epilog="\b\nExample: oneiros topics --json")
    def topics(as_json: AsJson = False, no_color: NoColor = False) -> None:
        """List the approved topics."""
        with environment.open_memory() as memory:
            heads = memory.topics()
        if as_json:
            keys = ("name", "title", "date", "summary", "path")
            data_json({"topics": [dict(zip(keys, _head_values(head), strict=True)) for head in heads]})
            return
        console = styled(no_color=no_color)
        width = max((len(head.name) for head in heads), default=0)
        for head in heads:
            date = head.date.isoformat() if head.date else " " * 10
            console.print(Text.assemble((f"{head.name:<{width}}", "bold"), f"  {date}  {shown_line(head.summary)}"))
        talk(f"{len(heads)} topics. Read one: oneiros read {heads[0].name}" if heads else "No topics yet.")


def asked(environment: Environment, question: Question) -> Answer:
    """The daemon's answer; that of the memory itself where no daemon runs."""
    try:
        answer, behind = Client(environment.variables, environment.choice.root.path).search(question)
    except DaemonLost:
        from oneiros.cli.opened import answer_here  # noqa: PLC0415  numpy and SQLite, which the daemon's answer saves

        return answer_here(environment, question)
    say_behind(behind)
    return answer


def recorded_types(kinds: Sequence[str]) -> list[str]:
    """The recorder's types that are asked for; none where all are types of frontmatter."""
    found = [kind for kind in kinds if kind in TYPES]
    if found and len(found) < len(kinds):
        raise UsageError(f"--type {found[0]} goes with its own kind alone", remedy=f"Choose of: {', '.join(TYPES)}")
    return found


def days_of(after: str | None, before: str | None) -> dict[str, Sequence[str]]:
    """The days as fields of a filter."""
    return {field: [day] for field, day in (("after", after), ("before", before)) if day}


def print_answer(answer: Answer, console: Console, *, explain: bool) -> None:
    """Hits on stdout, best first; what to do next on stderr."""
    for number, hit in enumerate(answer.hits, start=1):
        console.print(_headline(number, hit))
        console.print(_passage(hit, answer.terms))
        if explain:
            console.print(Text(_reasons(hit), style="dim"))
    if not answer.hits:
        talk(answer.note or "Nothing found.")
        return
    first = answer.hits[0]
    count = f"{len(answer.hits)} hit{'s' if len(answer.hits) > 1 else ''}"
    if explain and answer.terms:
        talk(f"Words looked up: {', '.join(answer.terms)}")
    note = f" {answer.note}" if answer.note else ""
    talk(f"{count}.{note} Read on: oneiros read {first.path}:{first.lines.first}")


def _headline(number: int, hit: Hit) -> Text:
    date = hit.date.isoformat() if hit.date else "undated"
    marks = "".join(
        [
            f"  {hit.type}" if hit.type in TYPES else "",
            "  decides" if hit.decides else "",
            f"  replaced by {shown_line(hit.replaced_by)}" if hit.replaced_by else "",
            f"  (also {', '.join(map(str, hit.more_lines[:4]))})" if hit.more_lines else "",
        ]
    )
    place = (f"{shown_line(hit.path)}:{hit.lines}", "bold")
    head = f"  {date}  {hit.score:.2f}".replace(" 0.", " .")
    return Text.assemble(
        f"{number:>2}  {hit.layer.value:<9}  ", place, f"{head}  {shown_line(hit.title)}", (marks, "italic")
    )


def _passage(hit: Hit, terms: tuple[str, ...]) -> Text:
    text = shown(shortened(hit.passage, terms, PASSAGE_CHARS))
    lines = [line for line in text.split("\n") if line.strip()]
    return Text("\n".join(f"      {line}" for line in lines), style="dim")


def _reasons(hit: Hit) -> str:
    reasons = "; ".join(f"{reason.arm}: {shown(reason.detail)}" for reason in hit.why)
    scores = "  ".join(f"{name} {score:.3f}" for name, score in hit.parts.items())
    return "\n".join(f"      {line}" for line in (reasons, scores) if line)


def _head_values(head: object) -> tuple[object, ...]:
    name, title, date, summary, path = (getattr(head, key) for key in ("name", "title", "date", "summary", "path"))
    return name, title, date.isoformat() if date else None, summary, path
