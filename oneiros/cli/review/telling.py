"""What a person says directly: `remember` and `wrong`. Shown as a hunk and taken up in the same step."""

import sys
from functools import partial
from typing import Annotated

import typer

from crawler.archive.choice import git_common_directory
from crawler.archive.names import ProjectNames
from dream.judge.filing import find_nearest_topic, list_names
from dream.judge.gate import RefusalReason
from dream.proposals.placing import Manner
from dream.proposals.rendering import diff_steps, hunk_lines
from dream.records import Hunk
from dream.run import Suggested
from dream.topics import read_topics
from memory_server.errors import ContentError, UsageError
from memory_server.escaping import escape_line
from memory_server.machine.clock import local_day
from oneiros.cli.consent import ask_consent, require_clean_tree, sign_at_end
from oneiros.cli.review.asking import ask_key, ask_place
from oneiros.cli.review.editing import reword_text
from oneiros.cli.terminal.output import OfAnyProject, OfProject, data, see_stdout, show, talk
from oneiros.dreaming import build_dream, open_decisions
from oneiros.environment import Environment, now
from oneiros.ingest.settings import archive_folder

NOTHING = "nothing was said"
REPLACING = {
    "r": "yours stands in the place of that line",
    "b": "yours is added, and that line stays",
    "n": "nothing is taken up",
}
REPEATING = {key: REPLACING[key] for key in "bn"}


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog='\b\nExample: oneiros remember "The staging relay listens on port 2526."')(remember)
    app.command(epilog='\b\nExample: oneiros wrong topics/mail.md:12 "The relay listens on port 2526."')(wrong)


def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="one statement; without it from stdin")] = "",
    topic: Annotated[str, typer.Option(help="the topic it goes to", show_default=False)] = "",
    editor: Annotated[bool, typer.Option("--editor", help="write it in your editor")] = False,
    project: OfAnyProject = "",
) -> None:
    """Say what is true: it is shown, and taken up with your consent.

    Where a line of a topic says the same or otherwise, you are asked whether yours replaces it or stands beside it.
    """
    environment: Environment = context.obj
    sitting = _Telling(environment, project, topic=topic)
    if editor:
        found = reword_text(text, sitting.require_hunk, environment.variables)
        sitting.take_up(found[1] if found else None)
        return
    if not text and not sys.stdin.isatty():
        text = sys.stdin.read()
    sitting.take_up(sitting.hear(text))


def wrong(
    context: typer.Context,
    place: Annotated[str, typer.Argument(metavar="TOPIC:LINE", help="a line of a topic, as an answer names it")],
    text: Annotated[str, typer.Argument(help="what is right")] = "",
    project: OfProject = "",
) -> None:
    """Put what is right in the place of a line of a topic."""
    if not text.strip():
        remedy = "Write it behind the line. To take a line out, edit the file and run `oneiros dream adopt FILE`"
        raise UsageError(NOTHING, remedy=remedy)
    sitting = _Telling(context.obj, project, place=place)
    sitting.take_up(sitting.hear(text))


class _Telling:
    """One statement of a person's, from what they say to its topic."""

    def __init__(self, environment: Environment, project: str, *, topic: str = "", place: str = ""):
        self._environment = environment
        self._decisions = open_decisions(environment)
        self._dream = build_dream(environment, self._decisions)
        self._topic = topic
        self._place = place
        repository = "" if project else str(git_common_directory(environment.working_folder) or "")
        self._names = ProjectNames(archive_folder(self._decisions.root))
        self._repository = repository  # in which the person stands; empty outside of one
        self._project = project or self._names.find(repository)

    def hear(self, text: str) -> Hunk | None:
        """What is said as a hunk; None where it is refused, and why is told."""
        if not text.strip():
            raise UsageError(NOTHING, remedy="Write it behind the command in quotes, or use --editor")
        heard = self._hear(text)
        for why in _refusals(heard):
            talk(f"Not taken up: {escape_line(text.strip())}\n  {why}")
        return heard.hunk

    def require_hunk(self, text: str) -> Hunk:
        """What is said as a hunk. Raises ContentError where it is refused."""
        heard = self._hear(text)
        if heard.hunk is None:
            raise ContentError(" ".join(_refusals(heard)))
        return heard.hunk

    def take_up(self, hunk: Hunk | None) -> None:
        """Asks where it goes, shows it, and takes it up with the person's consent."""
        if hunk is None:
            raise typer.Exit(1)
        if not (self._topic or hunk.update.place.old_text) and sys.stdin.isatty():
            hunk = self._refile_hunk(hunk)
        self._show(hunk)
        require_clean_tree(self._environment)
        consent = ask_consent(self._environment)
        with sign_at_end(self._environment, self._decisions):
            decided = self._decisions.take_up(hunk, consent)
        if self._repository:
            self._names.settle([self._repository])
        data(f"{hunk.id}  taken up in {hunk.target}{self._decisions.commit_in_words(decided.commit)}")
        talk(f"Undo it: oneiros dream revert {hunk.id[:8]}")

    def _hear(self, text: str) -> Suggested:
        """What becomes of a statement; at a terminal, where a line of a topic says the same or otherwise, as the person
        answers.
        """
        hear = partial(self._dream.hear, text, topic=self._topic, project=self._project)
        heard = hear(wrong=self._place)
        is_known = [one.reason for one in heard.refusals] == [RefusalReason.KNOWN]
        rival = heard.rival if heard.hunk or is_known else None
        if rival is None or not sys.stdin.isatty():
            return heard
        place = f"{rival.topic.path}:{rival.statement.lines}"
        data(f"{escape_line(place)} says{' this already' if is_known else ''}: {escape_line(rival.statement.text)}")
        match ask_key("Replace it, add yours beside it, or nothing", REPEATING if is_known else REPLACING):
            case "r" if heard.hunk and heard.hunk.update.place.old_text:
                return heard
            case "r":
                return hear(wrong=place)
            case "b":
                return hear(is_beside=True)
        raise typer.Abort

    def _refile_hunk(self, hunk: Hunk) -> Hunk:
        """The hunk where the person wants it: Enter takes the topic of their project that shares most words with it."""
        topics, candidate = read_topics(self._decisions.root), hunk.update.candidate
        nearest = find_nearest_topic(candidate.text, candidate.project, topics)
        target = nearest.path if nearest else hunk.target
        place = ask_place(list_names(candidate.project, topics), target, "")
        if place is None and target != hunk.target:
            place = target, ""
        return self._decisions.make_refiled(hunk, *place) if place else hunk

    def _show(self, hunk: Hunk) -> None:
        steps = diff_steps(self._decisions.root, [hunk], Manner(local_day(now())))
        show(see_stdout().colour_diff("\n".join(hunk_lines(hunk, steps))))


def _refusals(heard: Suggested) -> list[str]:
    """Why a statement is not taken up."""
    known = heard.update.why if heard.update else ""
    return [known if known and one.reason is RefusalReason.KNOWN else one.what for one in heard.refusals]
