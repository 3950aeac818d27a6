"""What a person says directly: `remember` and `wrong`. Shown as a hunk and taken up in the same step."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from crawler.archive.choice import git_common_directory
from dream.decisions.accept import Decisions
from dream.judge.gate import RefusalReason
from dream.proposals.placing import Manner
from dream.proposals.rendering import diff_steps, hunk_lines
from dream.records import Hunk
from dream.run import Suggested
from memory_server.errors import UsageError
from memory_server.escaping import shown_line
from memory_server.language.sentences import sentence_spans
from memory_server.layers.sessions import project_name
from oneiros.cli.consent.asking import agreed, signed
from oneiros.cli.review.sitting import edited
from oneiros.cli.terminal.output import data, talk
from oneiros.dreaming import decisions_of, dream_on
from oneiros.environment import Environment, now

NOTHING = "nothing was said"


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog='\b\nExample: oneiros remember "The staging relay listens on port 2526."')(remember)
    app.command(epilog='\b\nExample: oneiros wrong topics/mail.md:12 "The relay listens on port 2526."')(wrong)


def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="a sentence or several; without it from stdin")] = "",
    topic: Annotated[str, typer.Option(help="the topic it goes to", show_default=False)] = "",
    editor: Annotated[bool, typer.Option("--editor", help="write it in your editor")] = False,
) -> None:
    """Say what is true: it is shown, and taken up with your consent.

    What it contradicts in a topic gives way to it.
    """
    environment: Environment = context.obj
    if editor:
        text = edited(text, environment.variables)
    elif not text and not sys.stdin.isatty():
        text = sys.stdin.read()
    said = [line[first:end] for line in text.splitlines() for first, end in sentence_spans(line)]
    if not said:
        raise UsageError(NOTHING, remedy="Write it behind the command in quotes, or use --editor")
    _take_up(environment, said, topic=topic)


def wrong(
    context: typer.Context,
    place: Annotated[str, typer.Argument(metavar="TOPIC:LINE", help="a line of a topic, as an answer names it")],
    text: Annotated[str, typer.Argument(help="what is right")] = "",
) -> None:
    """Put what is right in the place of a line of a topic."""
    if not text.strip():
        remedy = "Write it behind the line. To take a line out, edit the file and run `oneiros dream adopt FILE`"
        raise UsageError(NOTHING, remedy=remedy)
    _take_up(context.obj, [text], place=place)


def _take_up(environment: Environment, said: Sequence[str], *, topic: str = "", place: str = "") -> None:
    decisions = decisions_of(environment)
    dream = dream_on(environment, decisions)
    project = _project_here(environment)
    heard = [dream.hear(text, topic=topic, wrong=place, project=project) for text in said]
    for text, one in zip(said, heard, strict=True):
        _tell_refusals(text, one)
    hunks = [one.hunk for one in heard if one.hunk]
    if not hunks:
        raise typer.Exit(1)
    _show(decisions, hunks)
    consent = agreed(environment)
    with signed(environment, decisions):
        for hunk in hunks:
            decided = decisions.take_up(hunk, consent)
            commit = f", commit {decided.commit[:8]}" if decided.commit else ""
            data(f"{hunk.id}  taken up in {hunk.target}{commit}")
    talk(f"Undo it: oneiros dream revert {hunks[0].id[:8]}")


def _project_here(environment: Environment) -> str:
    """The project whose repository the person stands in; empty outside of one."""
    repository = git_common_directory(environment.working_folder)
    return project_name(str(repository)) if repository else ""


def _tell_refusals(text: str, heard: Suggested) -> None:
    for refusal in heard.refusals:
        known = heard.update.why if heard.update and refusal.reason is RefusalReason.KNOWN else ""
        talk(f"Not taken up: {shown_line(text.strip())}\n  {known or refusal.what}")


def _show(decisions: Decisions, hunks: Sequence[Hunk]) -> None:
    steps = {step.hunk.id: step for step in diff_steps(decisions.root, hunks, Manner(now().date()))}
    for hunk in hunks:
        step = steps.get(hunk.id)
        data("\n".join(hunk_lines(hunk, step.before if step else None, step.after if step else None)))
