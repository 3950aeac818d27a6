"""`oneiros gc` and `keep`: sessions and episodes fade in what search holds of them; no file is lost."""

from collections.abc import Iterator
from typing import Annotated

import typer

from crawler.compress.candidates import DigestCandidate, SectionName, choose
from dream.blame import count_citations
from memory_server.document import SourcePath
from memory_server.errors import ContentError, UsageError
from memory_server.escaping import escape_line
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import STATEMENT, SUMMARY_CHARS, cut_id8, find_subject
from memory_server.layers.topics import is_topic, read_text
from memory_server.lifecycle.fading import LifeMark, add_mark
from memory_server.lifecycle.gc import BELOW, FadingSource, GcPlan, GcWanted, step_json
from memory_server.machine.clock import local
from memory_server.reading import find_source
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.cli.maintenance import brought_level
from oneiros.cli.terminal.output import AsJson, Yes, confirm, data, data_json, talk
from oneiros.environment import Environment, now
from oneiros.opening import open_memory
from parts.keeping.fading import carry_out, take_back

SHOWN = 40
MOST_LINE_CHARS = 160  # of a source that says in 500 what it is about
DryRun = Annotated[bool, typer.Option("--dry-run", help="say what would be done")]


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(gc)
    group.command("undo", epilog="\b\nExample: oneiros gc undo")(undo)
    app.add_typer(group, name="gc", epilog="\b\nExample: oneiros gc --dry-run")
    app.command(epilog="\b\nExample: oneiros keep 9e4910ab")(keep)


def gc(
    context: typer.Context,
    dry_run: DryRun = False,
    yes: Yes = False,
    below: Annotated[float, typer.Option(min=0.0, max=1.0, help="strength below which turns fade")] = BELOW,
    older_than: Annotated[int, typer.Option(min=0, help="days: what is older loses its turns anyway; 0: no")] = 0,
    project: Annotated[str, typer.Option(help="only this one")] = "",
    as_json: AsJson = False,
) -> None:
    """Let sessions fade that nobody uses: no file is lost.

    Search holds less of them: their statements, their digest, one line. What faded is still found with --raw, and read
    by `drill`. What is cited, kept or young does not fade; topics never do. It shows what it does, and asks before.
    """
    if context.invoked_subcommand:
        return
    if as_json and not (yes or dry_run):
        raise UsageError("--json shows nothing to be asked about", remedy="Look at --dry-run --json, then add --yes")
    environment: Environment = context.obj
    wanted = GcWanted(below, environment.person.fade_days, older_than, project)
    with open_memory(environment) as memory:
        root = memory.root
        plan = memory.aging().plan(count_citations(root), wanted)
        changes = plan.changes
        unread = len(memory.upkeep.changes().changed)
        for line in () if as_json else plan_lines(root, plan):
            data(line)
        if changes and not dry_run:
            confirm(f"Let {len(changes)} of {len(plan.steps)} sessions and episodes fade", yes=yes)
            if not yes:  # what was kept or opened while the question stood there does not fade, and nothing unseen does
                still = {step.source.path: step for step in memory.aging().plan(count_citations(root), wanted).changes}
                changes = [
                    new for step in changes if (new := still.get(step.source.path)) and new.change == step.change
                ]
        if as_json:
            data_json({"steps": list(map(step_json, changes)), "done": not dry_run})
        if not dry_run:
            carry_out(root, changes, now())
    if not dry_run and changes:
        brought_level(environment)
    if not as_json:
        done = "Nothing was changed." if dry_run or not changes else "Take it back: oneiros gc undo"
        behind = f" {unread} files are not indexed yet, and were not looked at: oneiros reindex" if unread else ""
        talk(f"{len(changes)} of {len(plan.steps)} sessions and episodes change. {done}{behind}")


def undo(context: typer.Context) -> None:
    """Take the last run of gc back."""
    environment: Environment = context.obj
    run = take_back(require_memory(environment.choice.root), now())
    if run is None:
        talk("There is no run to take back.")
        raise typer.Exit(1)
    brought_level(environment)
    talk(f"The run of {local(run.at):%Y-%m-%d %H:%M} is taken back: {len(run.changes)} sources.")


def keep(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="the id of a session, or the name of a topic or episode")],
    off: Annotated[bool, typer.Option("--off", help="no longer")] = False,
) -> None:
    """Let a session or topic never fade, or no longer."""
    environment: Environment = context.obj
    root = require_memory(environment.choice.root)
    with open_memory(environment) as memory:
        archived = memory.raw.store.marks() if memory.raw is not None else {}
        meant = {cut_id8(one) for one in archived if one.startswith(name)} if len(name) > 3 else set()
    if len(meant) > 1:
        raise UsageError(f"{len(meant)} sessions begin with {name!r}", remedy="Give more of the id")
    subject = meant.pop() if meant else find_subject(find_source(root, name).path)
    add_mark(root.marks, LifeMark(now(), keep=subject, off=off))
    if is_topic(SourcePath(subject)):
        talk(f"{subject} is {'again' if off else 'no longer'} listed where nobody uses it; topics never fade.")
    else:
        talk(f"{subject} {'may fade' if off else 'does not fade'} from the next `oneiros gc` on.")


def plan_lines(root: MemoryRoot, plan: GcPlan) -> Iterator[str]:
    """The changes of a plan for a person, the weakest first, each with its reasons; of long ones what they say, too."""
    for step in plan.changes[:SHOWN]:
        change, file = step.change, root.file(step.source.path)
        to = f"{change.was.in_words} -> {change.level.in_words}"
        yield f"{step.strength.value:.2f}  {to:<30}  {escape_line(_name_source(root, step.source))}"
        yield f"      {escape_line('; '.join(step.reasons))}"
        if step.is_long and file.exists():
            yield f"      {escape_line(_sum_up(read_text(file)))}"
    if len(plan.changes) > SHOWN:
        yield f"({len(plan.changes) - SHOWN} more; --json names them)"


def _name_source(root: MemoryRoot, source: FadingSource) -> str:
    """The title of a source and the id by which it is kept; its path where it has none."""
    try:
        title = parse_frontmatter(read_text(root.file(source.path))).text("title")
    except (ContentError, OSError):
        title = ""
    return f"{title}  {cut_id8(source.session) or source.path}" if title else source.path


def _sum_up(text: str) -> str:
    """What the head of a file says it is about, else lines that say most of it, in its order; SUMMARY_CHARS at most."""
    parsed = parse_frontmatter(text)
    if own := " ".join(parsed.text("summary").split()):
        return own[:SUMMARY_CHARS]
    lines = [line.strip() for line in parsed.body.splitlines()]
    texts = [found["text"] if (found := STATEMENT.match(line)) else line for line in lines if line and line[0] != "#"]
    candidates = [DigestCandidate(SectionName.OUTCOME, line[:MOST_LINE_CHARS], ()) for line in texts]
    chosen = choose(candidates, texts, max_chars=SUMMARY_CHARS)
    return " ".join(one.text for one in chosen)[:SUMMARY_CHARS]
