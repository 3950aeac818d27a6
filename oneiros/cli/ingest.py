"""Conversations in and out: `ingest`, `drill`, `forget`, `redact`."""

import dataclasses
import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from crawler.archive.append import ArchiveReport
from crawler.archive.files import RefusedFile
from crawler.archive.store import hash_session_id, resolve_session
from crawler.compress.levels import Depth, SessionReader, render_session, session_json
from crawler.ingest import readmit
from crawler.references import ScanReport
from memory_server.document import LineRange, raw_path
from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import escape_line, escape_text, join_counts, plural
from memory_server.index.build import Progress
from memory_server.layers.mif import parse_date
from memory_server.lifecycle.use import DRILLED, UseLog
from memory_server.machine.clock import find_day_begin, local_day
from memory_server.redaction import Redactor
from memory_server.root.forgetting import note_forgotten, sessions_to_forget, strike_out
from memory_server.root.places import require_memory
from memory_server.settings import AGENTS
from oneiros.cli.consent import require_person
from oneiros.cli.maintenance import brought_level
from oneiros.cli.terminal.output import AsJson, data, data_json, data_line, show_long, show_progress, talk
from oneiros.client import Client
from oneiros.daemon.sockets import end_daemon
from oneiros.environment import Environment, now
from oneiros.ingest import forgetting
from oneiros.ingest.follow import Follower, ending_on_interrupt
from oneiros.ingest.run import (
    IngestOutcome,
    Wanted,
    find_agent_source,
    is_news,
    list_places,
    outcome_sentence,
    roots_to_follow,
    run_ingest,
    scan_references,
    select_sources,
)
from oneiros.ingest.settings import crawl_roots, ingest_settings, open_archive
from oneiros.ingest.typed_lines import build_recorder
from oneiros.light.endpoint import is_running
from oneiros.opening import open_memory

SHOWN_PROBLEMS = 10

DryRun = Annotated[bool, typer.Option("--dry-run", help="say what would be done")]


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros ingest --since 2026-03-01 --dry-run")(ingest)
    app.command(epilog="\b\nExample: oneiros drill 9e4910ab --depth digest")(drill)
    app.command(epilog="\b\nExample: oneiros forget 9e4910ab --dry-run")(forget)
    app.command(epilog="\b\nExample: oneiros redact --dry-run notes.md")(redact)


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="transcripts, or folders of them", show_default=False)
    ] = None,
    project: Annotated[str, typer.Option(help="only this one: its path, or its folder's name, Claude's too")] = "",
    since: Annotated[str, typer.Option(help="only files changed on this day or later: 2026-03-01")] = "",
    limit: Annotated[int | None, typer.Option(help="end after so many files", show_default=False)] = None,
    machine: Annotated[str, typer.Option(help="only this one, by its name in your settings")] = "",
    agent: Annotated[str, typer.Option(help=f"read another agent's: {AGENTS}; once, by its store")] = "",
    read_as: Annotated[str, typer.Option("--as", help="read the paths as: chat, or an agent's name")] = "",
    me: Annotated[str, typer.Option(help="--as chat: your name in it, beside the setting `speakers`")] = "",
    dry_run: DryRun = False,
    follow: Annotated[bool, typer.Option("--follow", help="go on with what is written, until interrupted")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="leave the indices to the daemon, and start it")] = False,
    as_json: AsJson = False,
) -> None:
    """Take conversations in: archive, compress and index them.

    What is new is archived, what is over is compressed. Without a path: everything below ~/.claude/projects, the crawl
    roots and machines of your settings, and the stores of the other agents that they name.
    """
    environment: Environment = context.obj
    if follow and (dry_run or no_wait or machine or limit is not None):
        what = "--follow goes with none of --dry-run, --limit, --machine and --no-wait"
        raise UsageError(what, remedy="Give one of them")
    if machine and paths:
        raise UsageError("--machine does not go with a path", remedy="Give one of them")
    require_memory(environment.choice.root)
    wanted = Wanted(
        since=parse_day_begin(since),
        limit=limit,
        project=project,
        dry_run=dry_run,
        paths=tuple(paths or ()),
        machine=machine,
        agent=agent or read_as,
        me=me,
    )
    require_choice(environment, wanted, read_as=read_as)
    outcome = ingest_once(environment, wanted, as_json=as_json, one_line=follow, waits=not no_wait)
    if follow:
        follow_transcripts(environment, wanted, as_json=as_json)
    elif outcome.problems or outcome.is_barren:
        raise typer.Exit(1)


def drill(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="the id of a session, or the beginning of it")],
    depth: Annotated[Depth, typer.Option(help="how closely to look")] = Depth.LINE,
    entry: Annotated[str, typer.Option(help="raw: begin at the turn of this entry")] = "",
    first: Annotated[int, typer.Option(help="raw: begin at this turn, counted from 0")] = 0,
    turns: Annotated[int, typer.Option(help="raw: so many turns")] = 20,
    export: Annotated[
        Literal["markdown", "json"] | None,
        typer.Option(help="all its turns instead, to take along", show_default=False),
    ] = None,
) -> None:
    """Read a session at one of four depths; each names the next."""
    environment: Environment = context.obj
    root = environment.choice.root
    reader = SessionReader(open_archive(root), root.sessions)
    if export:
        _export(reader, session, export)
        return
    show_long(escape_text(reader.read(session, depth, entry=entry, first=first, turns=turns)).rstrip("\n"))
    if environment.person.query_log:
        is_raw = depth is Depth.RAW and not entry
        lines = LineRange(first + 1, first + turns) if is_raw else LineRange(0, 0)
        log = UseLog(require_memory(root).state_database, lambda: local_day(now()))
        log.count_access(raw_path(reader.resolve(session)), lines, DRILLED)
        log.close()


def _export(reader: SessionReader, session: str, form: Literal["markdown", "json"]) -> None:
    session_id = resolve_session(reader.archive, session)
    record, turns = reader.archive.record(session_id), list(reader.archive.turns(session_id))
    if form == "json":
        data_json(session_json(record, turns))
    else:
        for part in render_session(record, turns):
            data(part)


def forget(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="a session's id, or the path of a transcript")],
    dry_run: DryRun = False,
    undo: Annotated[bool, typer.Option("--undo", help="take it in again, while its transcript exists")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a session from every file and index.

    It goes from the archive, its compressed files, proposals, the query log and every index, and does not come back by
    itself. What still holds it is named. --undo takes a session in again that was forgotten, or left out by a line of
    its prompts.
    """
    environment: Environment = context.obj
    root = environment.choice.root
    settings = ingest_settings(environment, require_memory(root))
    folders = [one.folder for one in crawl_roots(environment)]
    if undo:
        if dry_run:
            raise UsageError("--undo does not go with --dry-run", remedy="Give one of them")
        if not is_running(str(root.path)):
            with open_memory(environment) as memory:
                memory.own()  # before anything comes back, as below
        paths = readmit(what, settings, folders, now())
        note_forgotten(root.states, (hash_session_id(path.stem) for path in paths), is_undone=True)
        strike_out(root, [path.stem for path in paths])
        ingest_once(environment, Wanted(paths=tuple(paths)), as_json=as_json)
        return
    plan = forgetting.plan(root, settings, what, folders)
    if not as_json:
        for line in forgetting.plan_lines(plan):
            data(line)
    if not dry_run:
        require_person(environment, f"forget {plural(len(plan.session_ids), 'session')}, {what}")
        if is_running(str(root.path)):
            end_daemon(root)
        talk("It is taken out of every file and index; that can take a minute.")
        with open_memory(environment) as memory, show_progress() as show:
            memory.own()  # before anything goes: half a forgetting would be none
            forgetting.carry_out(root, environment.person, settings, plan)
            memory.reindex(report_progress=show)
        if not sessions_to_forget(root).isdisjoint(plan.session_ids):
            raise NeedsRepair(
                "nothing finds it any more, but words of it stay in a file that another program reads",
                where=root.path,
                remedy=f"End that program, then `oneiros forget {plan.session_ids[0][:8]}`; each index run tries too",
            )
    if as_json:
        data_json(dataclasses.asdict(plan) | {"forgotten": not dry_run})
    else:
        still = " What stays of it is listed above." if plan.topics or plan.commits or plan.transcripts else ""
        talk(f"{'Nothing was removed.' if dry_run else 'Forgotten.'}{still}")


def redact(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="a text or transcript")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list what would be masked; the file stays")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a text as it would be kept, its secrets masked."""
    environment: Environment = context.obj
    try:
        text = (environment.working_folder / file).read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"the file cannot be read ({error.strerror})", where=file, remedy="Name a file") from error
    found = Redactor(environment.person.deny_words).redact(text)
    places = [(text.count("\n", 0, span.start) + 1, span) for span in found.spans]
    if as_json:
        masked = [{"line": line, "kind": span.kind, "chars": span.end - span.start} for line, span in places]
        data_json({"file": str(file), "masked": masked})
    elif dry_run:
        for line, span in places:
            data(f"{file}:{line}: {span.kind}, {span.end - span.start} characters")
    else:
        data(escape_text(found.text).rstrip("\n"))
    talk(f"{plural(len(found.spans), 'secret')}; the file was not changed.")


def require_choice(environment: Environment, wanted: Wanted, *, read_as: str) -> None:
    """Whose words are read as the person's is the person's to say: once, or by the setting `agents`."""
    reader = find_agent_source(environment, wanted.agent) if wanted.agent else None
    if (read_as or wanted.agent == "chat" or wanted.me) and not (wanted.paths and wanted.agent):
        raise UsageError("--as and --me go with a path", remedy="oneiros ingest --as chat FILE")
    is_settled = wanted.agent in environment.person.agents and not wanted.paths
    if reader and not is_settled and not wanted.dry_run:
        places = ", ".join(str(place) for place in list_places(environment, wanted))
        what = f"take in conversations of {reader.TITLE}: {places}"
        require_person(environment, what, is_setting=True)


def ingest_once(
    environment: Environment, wanted: Wanted, *, as_json: bool, one_line: bool = False, waits: bool = True
) -> IngestOutcome:
    """One ingest with references and indices, and what it did. `one_line`: JSON without line ends, for a stream;
    not `waits`: the daemon is left to index it.
    """
    root = environment.choice.root
    with show_progress() as show:
        outcome = run_ingest(
            environment,
            root,
            wanted,
            now(),
            lambda done, every: show(_megabytes(done, every)),
            compressing=lambda done, sessions: show(Progress("compressing", done, sessions)),
        )
    references = None if wanted.dry_run else scan_references(environment, root, select_sources(environment, wanted))
    outcome.is_barren = bool(references and references.barren)
    indexed = None if wanted.dry_run else _index_ingested(environment, waits=waits)
    if as_json:
        copied = {"references": dataclasses.asdict(references) if references else None}
        (data_line if one_line else data_json)(outcome_json(outcome) | copied)
        return outcome
    is_of_roots = not (wanted.machine or wanted.agent) and len(outcome.reports) == 1
    folders = wanted.paths or [one.folder for one in crawl_roots(environment)] if is_of_roots else ()
    places = [str(folder).replace(str(environment.home), "~", 1) for folder in folders]
    for line in (*outcome_lines(outcome, places), *(reference_lines(references) if references else ())):
        talk(line)
    if indexed:
        files, passages = indexed["changed"], indexed["chunks"]
        talk(f"Indexed {plural(files, 'file')} anew, {plural(passages, 'passage')}. Ask: oneiros recall 'a question'")
    elif not wanted.dry_run:
        talk("The daemon indexes it meanwhile: `oneiros status` says how far it is.")
    return outcome


def follow_transcripts(environment: Environment, wanted: Wanted, *, as_json: bool) -> None:
    """Ingests what is written from here on, and says so where that was something; ends by an interruption alone.

    What is under way when it comes is finished first.
    """
    folders = [one.folder for one in roots_to_follow(environment, wanted.paths)]
    here = dataclasses.replace(wanted, places="here")
    with Follower(folders) as follower, ending_on_interrupt(follower):
        is_open = follower.watch()
        talk(f"Following {plural(len(folders), 'folder')} by {follower.events.manner}; ^C ends it.")
        while is_open:
            outcome = run_ingest(environment, environment.choice.root, here, now())
            if is_news(outcome):
                _index_ingested(environment)
                if as_json:
                    data_line(outcome_json(outcome))
                else:
                    talk(f"{now().astimezone():%H:%M:%S}  {outcome_sentence(outcome)}")
            is_open = follower.wait()
    raise KeyboardInterrupt


def _index_ingested(environment: Environment, *, waits: bool = True) -> dict[str, Any] | None:
    """Brings the indices level, and the lines that recall by type is answered from; the report of the former, None
    where the daemon is not waited for.
    """
    report = brought_level(environment) if waits else None
    if not waits:
        client = Client.of(environment)
        client.start()
        client.ask("POST", "/api/reindex", {"wait_seconds": 0})
    with open_memory(environment) as memory:
        build_recorder(memory).bring_level()
    return report


def _megabytes(done: int, every: int) -> Progress:
    """The progress of an ingest as megabytes of transcripts on disk."""
    return Progress("reading MB", int(done / 1e6), max(1, ceil(every / 1e6)))


def outcome_lines(outcome: IngestOutcome, places: Sequence[str] = ()) -> Iterator[str]:
    """What an ingest did, for a person. `places`: where it looked, named where nothing is there."""
    nowhere = f"No transcripts found{' in ' * bool(places)}{', '.join(places)}"
    is_any = any(report.ingest.files or report.ingest.entries for report in outcome.reports)
    for report in outcome.reports:
        taken, made = report.ingest, report.compress
        yield from map(str, taken.bad_lines[:SHOWN_PROBLEMS])
        if len(taken.bad_lines) > SHOWN_PROBLEMS:
            yield f"({len(taken.bad_lines) - SHOWN_PROBLEMS} more bad lines)"
        yield from (*taken.remarks[:SHOWN_PROBLEMS], *refusal_lines(taken.refused))
        if taken.files or taken.entries or not is_any:
            yield format_taken(taken, nowhere)
        done = (
            join_counts(
                (len(made.written), f"{len(made.written):,} compressed"),
                (made.unchanged, f"{made.unchanged:,} unchanged"),
                (made.open, f"{made.open:,} still open"),
                (made.empty, f"{made.empty:,} without a word"),
            )
            if made
            else ""
        )
        if done:
            yield f"Sessions: {done}."
    yield from map(str, outcome.problems)


def format_taken(taken: ArchiveReport, nowhere: str) -> str:
    """What came in, then what became of the files. `nowhere` is said where there is none."""
    would = "would be " if taken.is_dry_run else ""
    entries = f"{taken.entries:,} new {'entry' if taken.entries == 1 else 'entries'}"
    files = join_counts(
        (taken.read, f"{taken.read:,} of {plural(taken.files, 'file')} {would}read"),
        (taken.unchanged, f"{taken.unchanged:,} unchanged"),
        (len(taken.refused), f"{len(taken.refused):,} refused"),
        (taken.copies, f"{taken.copies:,} {'copy' if taken.copies == 1 else 'copies'} left out"),
        (taken.secrets, f"{plural(taken.secrets, 'secret')} masked"),
        (len(taken.bad_lines), plural(len(taken.bad_lines), "bad line")),
    )
    new = "Nothing new" if taken.files else nowhere
    if taken.entries:
        new = f"{plural(len(taken.sessions), 'session')} {would}taken in, {entries}"
    return f"{'; '.join(filter(None, (new, files)))}."


def reference_lines(found: ScanReport) -> Iterator[str]:
    """What a look at the references did, for a person."""
    yield from found.problems
    yield from reason_lines(found.refused)
    yield from (f"References: {what}." for what in found.barren)
    if found.written or found.removed or found.moved:
        doubles = f", {found.doubles} kept once with another" if found.doubles else ""
        yield f"References: {found.written} read, {found.moved} moved, {found.removed} gone{doubles}."


def refusal_lines(refused: Iterable[RefusedFile]) -> Iterator[str]:
    """Why files were not taken in: a line a reason, with the first of its files."""
    reasons: dict[str, list[str]] = {}
    for one in refused:
        reasons.setdefault(one.reason, []).append(str(one.path))
    return reason_lines(reasons)


def reason_lines(reasons: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The files of each reason, the first by its name."""
    for reason, paths in reasons.items():
        more = f" ({len(paths) - 1} more files likewise; --json names them)" if len(paths) > 1 else ""
        yield f"{escape_line(paths[0])}: refused, {reason}{more}."


def outcome_json(outcome: IngestOutcome) -> dict[str, object]:
    """What an ingest did, for programs; sums over all roots."""
    taken = [report.ingest for report in outcome.reports]
    made = [report.compress for report in outcome.reports if report.compress is not None]
    counted = ("files", "read", "unchanged", "entries", "secrets")
    return {
        **{name: sum(getattr(one, name) for one in taken) for name in counted},
        "sessions": sorted({session for one in taken for session in one.sessions}),
        "bad_lines": [str(bad) for one in taken for bad in one.bad_lines],
        "remarks": [remark for one in taken for remark in one.remarks],
        "refused": [msgspec.to_builtins(bad, enc_hook=str) for one in taken for bad in one.refused],
        "problems": [dataclasses.asdict(problem) for problem in outcome.problems],
        "compressed": [str(path) for one in made for path in one.written],
        **{name: sum(getattr(one, name) for one in made) for name in ("open",)},
    }


def parse_day_begin(text: str) -> dt.datetime | None:
    """The beginning of a day; None for an empty text. Raises UsageError for what is no day."""
    if not text:
        return None
    day = parse_date(text)
    if day is None:
        raise UsageError(f"{text!r} is no day", remedy="Write it as 2026-03-01")
    return find_day_begin(day)
