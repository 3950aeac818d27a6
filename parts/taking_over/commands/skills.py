"""`oneiros skills`: what a person does again and again, and a skill of it where they want one."""

from pathlib import Path
from typing import Annotated

import typer

from crawler.archive.choice import git_common_directory
from crawler.quotes import Quote
from dream.decisions.skills import require_place
from dream.evidence import Evidence
from dream.judge.skill import refusals_of_skill
from dream.proposals.skill import allowed_by, name_of, save_draft, skill_text, steps_of
from dream.records import Habit
from dream.statements.habits import habits_in
from memory_server.errors import ContentError, UsageError
from memory_server.escaping import shown, shown_line
from memory_server.layers.sessions import id8_of, project_name
from memory_server.machine.clock import local
from memory_server.redaction import Redactor
from memory_server.root.places import require_memory
from oneiros.cli.consent.asking import agreed, signed
from oneiros.cli.terminal.output import OfProject, data, talk
from oneiros.dreaming import decisions_of
from oneiros.environment import Environment, top_of
from oneiros.ingest.readings import project_of
from oneiros.ingest.settings import archive_of

MOST = 12  # of each kind, in a list
Name = Annotated[str, typer.Argument(metavar="ID", help="as `oneiros skills` names it, or the beginning of it")]


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
    group.callback()(skills)
    group.command(epilog="\b\nExample: oneiros skills draft 3fa9c1d2")(draft)
    group.command(epilog="\b\nExample: oneiros skills accept 3fa9c1d2 --mine")(accept)
    group.command(epilog="\b\nExample: oneiros skills revert fmt-lint-test")(revert)
    app.add_typer(group, name="skills", epilog="\b\nExample: oneiros skills")


def skills(context: typer.Context, project: OfProject = "") -> None:
    """List what you do again and again; make a skill of it.

    Read are the calls of archived sessions that succeeded, and where you wished for a script, a command or a skill.
    """
    if context.invoked_subcommand:
        return
    environment: Environment = context.obj
    archive = archive_of(require_memory(environment.choice.root))
    habits, ideas = habits_in(archive)
    if project:
        habits = [habit for habit in habits if habit.project.casefold() == project.casefold()]
        held = {one.session_id for one in archive.records() if project_of(one).casefold() == project.casefold()}
        ideas = [group for group in ideas if any(one.session_id in held for one in group)]
    for habit in habits[:MOST]:
        last = f"{local(habit.last):%Y-%m-%d}" if habit.last else "undated"
        data(f"{habit.id[:8]}  {len(habit.times)} sessions, last {last}  {shown_line(habit.project)}".rstrip())
        data(f"    {'; '.join(steps_of(habit))}")
        for quote in habit.quotes[:2]:
            data(f"    {_said(quote)}")
    for group in ideas[:MOST]:
        count = len({one.session_id for one in group})
        data(f"idea, {count} session{'s' * (count > 1)}: {_said(group[-1])}")
    talk(f"{len(habits)} habits, {len(ideas)} ideas.{' A skill of one: oneiros skills draft ID' * bool(habits)}")
    if not (habits or ideas):
        raise typer.Exit(1)


def draft(context: typer.Context, name: Name) -> None:
    """Write a skill that a habit would make, as a proposal."""
    environment: Environment = context.obj
    root = require_memory(environment.choice.root)
    habit = _passed(environment, name)
    file = save_draft(root, habit)
    data(shown(skill_text(habit)).rstrip())
    talk(f"{file.relative_to(root.path)}. Nothing takes effect before: oneiros skills accept {habit.id[:8]}")


def accept(
    context: typer.Context,
    name: Name,
    mine: Annotated[bool, typer.Option("--mine", help="for all of your projects, not the one you stand in")] = False,
) -> None:
    """Install a skill: all of it is shown, and what it allows; asks for your consent."""
    environment: Environment = context.obj
    decisions, habit, home = decisions_of(environment), _passed(environment, name), environment.home
    file = _skills_folder(environment, habit, mine=mine) / name_of(habit) / "SKILL.md"
    require_place(file, skill_text(habit))
    data("\n".join(f"  | {line}" for line in shown(skill_text(habit)).splitlines()))
    data(f"It allows without asking: {', '.join(allowed_by(habit)) or 'nothing'}")
    data(f"It goes to {file}, which is new.")
    consent = agreed(environment)
    noted = f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file)
    with signed(environment, decisions):
        decisions.install(habit, file, noted, consent)
    talk(f"Installed. Undo it: oneiros skills revert {habit.id[:8]}")


def revert(context: typer.Context, name: Annotated[str, typer.Argument(help="its name or id")]) -> None:
    """Take an installed skill away again; one that you changed since stays."""
    environment: Environment = context.obj
    decisions = decisions_of(environment)
    found = [one for one in decisions.installed() if name and (one.text == name or one.hunk.startswith(name))]
    if not found:
        raise ContentError(f"no installed skill is called {name[:40]!r}", remedy="Name its folder or its id")
    place = found[-1].files[0].path
    file = environment.home / place[2:] if place.startswith("~/") else Path(place)
    with signed(environment, decisions):
        decisions.uninstall(found[-1], file, agreed(environment))
    talk(f"{file} is gone.")


def _passed(environment: Environment, name: str) -> Habit:
    """A habit by the beginning of its id. Raises UsageError for none, ContentError where the gate refuses its skill."""
    archive = archive_of(require_memory(environment.choice.root))
    found = [habit for habit in habits_in(archive)[0] if name and habit.id.startswith(name)]
    if len(found) != 1:
        remedy = "`oneiros skills` names the habits; an idea becomes one once it was done in two sessions"
        raise UsageError(f"no habit, or more than one, begins with {name[:40]!r}", remedy=remedy)
    redactor = Redactor(environment.person.deny_words)
    if refused := refusals_of_skill(found[0], skill_text(found[0]), Evidence(archive), redactor):
        raise ContentError(f"refused, {refused[0].reason}: {refused[0].what}", where=f"skill {found[0].id[:8]}")
    return found[0]


def _skills_folder(environment: Environment, habit: Habit, *, mine: bool) -> Path:
    """Where a client looks for skills: the person's, or those of the project in which they stand."""
    if mine:
        return environment.claude_folder / "skills"
    top = top_of(environment.working_folder)
    common = git_common_directory(environment.working_folder)
    if top is None or common is None or habit.project not in ("", project_name(str(common))):
        where = f"the repository of {shown_line(habit.project)}" if habit.project else "a repository"
        raise UsageError(f"you do not stand in {where}", remedy="Run it there, or with --mine for all of your projects")
    folder = top / ".claude" / "skills"
    if not folder.resolve().is_relative_to(top.resolve()):
        raise UsageError(f"{folder} leads out of its repository", remedy="Use --mine, or put a folder there")
    return folder


def _said(quote: Quote) -> str:
    day = f", {local(quote.time):%Y-%m-%d}" if quote.time else ""
    return f'you, session {id8_of(quote.session_id)}{day}: "{shown_line(" ".join(quote.text.split()))}"'
