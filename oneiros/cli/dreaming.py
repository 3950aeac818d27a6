"""What sessions said becomes knowledge: `dream`, `review`, `report`."""

import dataclasses
import sys
from functools import partial
from typing import Annotated

import msgspec
import typer

from dream.decisions.accept import Decided, Decisions
from dream.decisions.page import Chosen
from dream.proposals.questions import bare_topics
from dream.proposals.rendering import hunk_json, waiting_for_person
from dream.records import Hunk, State
from dream.report import first_screen, limit_review, report_page
from dream.run import DreamReport
from memory_server.errors import OneirosError, UsageError
from memory_server.escaping import escape_line, escape_text, join_counts, plural
from memory_server.index.build import Progress
from memory_server.layers.topics import shorten_text
from oneiros.cli.consent import ask_person, require_clean_tree, sign_at_end
from oneiros.cli.readings import offer_reader, read_waiting
from oneiros.cli.review.sitting import TerminalReview
from oneiros.cli.serving import page_link
from oneiros.cli.terminal.output import AsJson, OfProject, data, data_json, show, show_long, show_progress, talk
from oneiros.client import Client
from oneiros.dreaming import bring_level, dream_once, make_deadline, open_decisions, tell_left, weekly_review
from oneiros.environment import Environment
from oneiros.ingest.settings import open_archive
from oneiros.opening import open_memory

WORD_AT_END = "At the end a word is shown, which you type back; nothing is decided without it."
KEY_AT_END = "At the end your key signs what you decided; what is not signed is named."
LISTED_CHARS = 100  # of a statement on a line of `--list`
HunkName = Annotated[str, typer.Argument(metavar="HUNK", help="its id, or the beginning of it")]


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    dreams = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    dreams.callback()(dream)
    dreams.command(epilog="\b\nExample: oneiros dream apply 2026-03-01-1 --hunk 3fa9c1d2")(apply)
    dreams.command(epilog="\b\nExample: oneiros dream revert 3fa9c1d2")(revert)
    dreams.command(epilog="\b\nExample: oneiros dream adopt topics/mail.md")(adopt)
    app.add_typer(dreams, name="dream", epilog="\b\nExample: oneiros dream && oneiros review")
    app.command(epilog="\b\nExample: oneiros review")(review)
    app.command(epilog="\b\nExample: oneiros report --all")(report)


def dream(
    context: typer.Context,
    sessions: Annotated[int | None, typer.Option(help="read at most so many", min=1, show_default=False)] = None,
    seconds: Annotated[float | None, typer.Option(help="read no more after so long", min=0, show_default=False)] = None,
    with_open: Annotated[bool, typer.Option("--open", help="sessions still going on, too")] = False,
    project: OfProject = "",
    as_json: AsJson = False,
) -> None:
    """Find what sessions said that topics should know; propose it."""
    environment: Environment = context.obj
    if context.invoked_subcommand:
        return
    if offer_reader(environment, environment.choice.root):
        environment = dataclasses.replace(environment)  # with the settings as they are now
    is_over = make_deadline(seconds)
    if environment.person.reader != "rules":
        reading = read_waiting(
            environment, environment.choice.root, sessions, project, is_alone=bool(project), is_over=is_over
        )
        if reading.stopped:
            talk(f"{plural(reading.left, 'session')} wait for {environment.person.reader}: {reading.stopped}.")
    with show_progress() as show:
        report = dream_once(
            environment,
            open_decisions(environment),
            max_sessions=sessions,
            is_over=is_over,
            with_open=with_open,
            project=project,
            on_session=lambda done, total: show(Progress("reading", done, total)),
        )
    if report.questions.statements:
        bring_level(environment)
    if as_json:
        data_json(dataclasses.asdict(report))
        return
    _show_run(report, environment.person.dream_hunks_a_day)
    if environment.person.reader == "rules":
        if report.sessions and not report.found:
            talk("Rules read them, which offer little. `oneiros config reader claude-cli` has Claude read.")
    elif bare := bare_topics(environment.choice.root):
        talk(f"{plural(len(bare), 'topic')} without a summary: oneiros topics tidy --reader")


def _show_run(report: DreamReport, a_day: int) -> None:
    for problem in report.problems:
        talk(str(problem))
    offer = report.offer
    read = join_counts(
        (report.sessions, f"{plural(report.sessions, 'session')} read in {report.seconds:.1f} s"),
        (report.left, f"{report.left:,} left to read"),
        (report.found, plural(report.found, "new hunk")),
    )
    for line in tell_left(report.filed, report.questions):
        talk(line)
    for what, count in (("expired", offer.expired), ("retired", offer.retired)):
        if count:
            talk(f"{count} open hunks have {what}.")
    offered = join_counts(
        (offer.offered, f"{offer.offered} proposed"),
        (offer.questions, plural(offer.questions, "question")),
        (offer.queued, _waiting_text(offer.queued, a_day)),
    )
    if offer.proposal:
        talk(f"{read or 'No new session'}.")
        data(f"proposals/{offer.proposal}/proposal.md")
        talk(f"{offered}. Decide: oneiros review")
    else:
        talk(f"{'; '.join(filter(None, (read or 'No new session', 'nothing new is proposed', offered)))}.")


def _waiting_text(queued: int, a_day: int) -> str:
    return f"{queued} wait for another day: at most {a_day} a day are proposed (oneiros config dream_hunks_a_day)"


def apply(
    context: typer.Context,
    proposal: Annotated[str, typer.Argument(help="the name of a proposal")],
    hunk: Annotated[list[str] | None, typer.Option(help="only these of its hunks", show_default=False)] = None,
) -> None:
    """Accept the open hunks of a proposal; asks for a word on your terminal."""
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    found = decisions.store.proposal(proposal).hunks
    wanted = [one for one in found if one.is_open and (not hunk or any(one.id.startswith(name) for name in hunk))]
    if not wanted:
        raise UsageError("no open hunk is meant", remedy=f"`oneiros review --list` names those of {proposal}")
    require_clean_tree(environment)
    consent = ask_person(environment)
    refused: list[tuple[Hunk, OneirosError]] = []
    with sign_at_end(environment, decisions):
        chosen = [(Chosen(one.id, "accept"), one) for one in wanted]
        for decided in decisions.decide(chosen, consent, lambda *refusal: refused.append(refusal)):
            _tell(decisions, decided, "taken up in")
    for one, error in refused[1:]:
        talk(f"{one.id} is left open: {error}")
    if refused:
        raise refused[0][1]


def revert(context: typer.Context, hunk: HunkName) -> None:
    """Take an accepted hunk out of its topic again, or put topics back that were moved, merged or split."""
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    require_clean_tree(environment)
    if arranged := decisions.find_arrangement(hunk):
        with sign_at_end(environment, decisions):
            done = decisions.put_back(arranged, ask_person(environment))
        talk(f"{done.what}{decisions.commit_in_words(done.commit)}.")
        return
    name = decisions.store.hunk(hunk).id
    with sign_at_end(environment, decisions):
        _tell(decisions, decisions.revert(name, ask_person(environment)), "taken out of")


def adopt(
    context: typer.Context,
    paths: Annotated[list[str], typer.Argument(help="files of the memory that were changed elsewhere")],
) -> None:
    """Answer for changes of approved files that came about without a review."""
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    require_clean_tree(environment)
    with sign_at_end(environment, decisions):
        commit = decisions.adopt(paths, ask_person(environment))
    talk(f"Adopted{decisions.commit_in_words(commit)}.")


def _tell(decisions: Decisions, decided: Decided, what: str) -> None:
    data(f"{decided.hunk.id}  {what} {decided.hunk.target}{decisions.commit_in_words(decided.commit)}")


def review(
    context: typer.Context,
    list_only: Annotated[bool, typer.Option("--list", help="name the open hunks and decide nothing")] = False,
    editor: Annotated[bool, typer.Option("--editor", help="all of them as one file in your editor")] = False,
    page: Annotated[bool, typer.Option("--page", help="decide in a browser instead")] = False,
    project: OfProject = "",
    as_json: AsJson = False,
) -> None:
    """Decide about proposed changes, one at a time; ? names the keys."""
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    every = waiting_for_person(decisions.store.hunks())
    hunks = [one for one in every if not project or one.update.candidate.project.casefold() == project.casefold()]
    queued = sum(hunk.state is State.QUEUED for hunk in decisions.store.queue())
    waiting = f" {_waiting_text(queued, environment.person.dream_hunks_a_day)}." if queued else ""
    if list_only or as_json:
        _list(hunks, waiting, as_json=as_json)
        return
    if not sys.stdin.isatty():
        raise UsageError("a review needs a terminal", remedy="`oneiros review --list` only shows what is open")
    require_clean_tree(environment)
    person = partial(ask_person, environment)
    sitting = TerminalReview(decisions, open_archive(decisions.root), person, environment.variables)
    talk(f"{len(hunks)} open.{waiting}")
    talk(KEY_AT_END if environment.person.signing_key else WORD_AT_END)
    with sign_at_end(environment, decisions):
        sitting.ask_about_doubts(decisions.find_unexplained())
        if page:
            sitting.run_on_page(ask_on_page(environment))
        elif editor and hunks:
            sitting.run_in_editor(hunks)
        else:
            sitting.run(hunks)
    unsigned = "" if environment.person.signing_key or not sitting.accepted else " They are unsigned: oneiros key new"
    talk(f"{sitting.accepted} accepted, {sitting.rejected} rejected, {sitting.skipped} left for later.{unsigned}")
    if not hunks:
        raise typer.Exit(1)


def ask_on_page(environment: Environment) -> list[Chosen]:
    """What the person chose on a page: one that is open already, or one that opens now."""
    client = Client.of(environment)
    if not (chosen := _take_choices(client)):
        data(page_link(environment, "review"))
        talk("Open it within two minutes; it works once. Choose there, then press Enter here.")
        sys.stdin.readline()
        chosen = _take_choices(client)
    return chosen


def _take_choices(client: Client) -> list[Chosen]:
    client.start()
    return msgspec.convert(client.ask("POST", "/page/chosen")["choices"], list[Chosen])


def _list(hunks: list[Hunk], waiting: str, *, as_json: bool) -> None:
    if as_json:
        data_json({"hunks": [hunk_json(hunk) for hunk in hunks]})
    else:
        for hunk in hunks:
            text = shorten_text(escape_line(hunk.text), LISTED_CHARS)
            show(f"{hunk.id}  {hunk.proposal}  {hunk.target}  {hunk.update.relation}  {text}")
        talk(f"{len(hunks)} open.{waiting} Decide: oneiros review" if hunks else f"Nothing is open.{waiting}")
    if not hunks:
        raise typer.Exit(1)


def report(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="every finding, and what was decided by kind")] = False,
    project: OfProject = "",
    as_json: AsJson = False,
) -> None:
    """Show what to look at this week, and write it to reports/."""
    environment: Environment = context.obj
    with open_memory(environment) as memory:
        review, file = weekly_review(memory)
        review = limit_review(review, memory.root, project) if project else review
    if as_json:
        data_json(dataclasses.asdict(review) | {"day": review.day.isoformat(), "file": str(file)})
        return
    show_long(escape_text((report_page(review) if everything else first_screen(review)).rstrip()))
    talk(f"Details: {file}")
