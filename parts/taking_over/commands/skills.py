"""`oneiros skills`: what a person does again and again, and a skill of it where they want one."""

from pathlib import Path
from typing import Annotated

import typer

from crawler.archive.choice import git_common_directory
from crawler.quotes import Quote
from dream.evidence import Evidence
from memory_server.errors import ContentError, UsageError
from memory_server.escaping import escape_line, escape_text
from memory_server.layers.sessions import cut_id8
from memory_server.machine.clock import local
from memory_server.redaction import Redactor
from memory_server.root.places import require_memory
from oneiros.cli.consent import ask_consent, sign_at_end
from oneiros.cli.terminal.output import OfProject, data, talk
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment, find_top
from oneiros.hooks.whereabouts import name_project
from oneiros.ingest.readings import find_project
from oneiros.ingest.settings import open_archive
from parts.taking_over.deeds import Habit
from parts.taking_over.habits import read_habits
from parts.taking_over.installing import install_skill, list_installed, require_place, uninstall_skill
from parts.taking_over.refusals import refusals_of_skill
from parts.taking_over.skill import list_steps, list_tools, make_name, save_draft, skill_text

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
    archive = open_archive(require_memory(environment.choice.root))
    habits, ideas = read_habits(archive)
    if project:
        habits = [habit for habit in habits if habit.project.casefold() == project.casefold()]
        held = {one.session_id for one in archive.records() if find_project(one).casefold() == project.casefold()}
        ideas = [group for group in ideas if any(one.session_id in held for one in group)]
    for habit in habits[:MOST]:
        last = f"{local(habit.last):%Y-%m-%d}" if habit.last else "undated"
        data(f"{habit.id[:8]}  {len(habit.times)} sessions, last {last}  {escape_line(habit.project)}".rstrip())
        data(f"    {'; '.join(list_steps(habit))}")
        for quote in habit.quotes[:2]:
            data(f"    {_format_quote(quote)}")
    for group in ideas[:MOST]:
        count = len({one.session_id for one in group})
        data(f"idea, {count} session{'s' * (count > 1)}: {_format_quote(group[-1])}")
    talk(f"{len(habits)} habits, {len(ideas)} ideas.{' A skill of one: oneiros skills draft ID' * bool(habits)}")
    if not (habits or ideas):
        raise typer.Exit(1)


def draft(context: typer.Context, name: Name) -> None:
    """Write a skill that a habit would make, as a proposal."""
    environment: Environment = context.obj
    root = require_memory(environment.choice.root)
    habit = _find_habit(environment, name)
    file = save_draft(root, habit)
    data(escape_text(skill_text(habit)).rstrip())
    talk(f"{file.relative_to(root.path)}. Nothing takes effect before: oneiros skills accept {habit.id[:8]}")


def accept(
    context: typer.Context,
    name: Name,
    mine: Annotated[bool, typer.Option("--mine", help="for all of your projects, not the one you stand in")] = False,
) -> None:
    """Install a skill: all of it is shown, and what it allows; asks for your consent."""
    environment: Environment = context.obj
    decisions, habit, home = open_decisions(environment), _find_habit(environment, name), environment.home
    file = _skills_folder(environment, habit, mine=mine) / make_name(habit) / "SKILL.md"
    require_place(file, skill_text(habit))
    data("\n".join(f"  | {line}" for line in escape_text(skill_text(habit)).splitlines()))
    data(f"It allows without asking: {', '.join(list_tools(habit)) or 'nothing'}")
    data(f"It goes to {file}, which is new.")
    consent = ask_consent(environment)
    noted = f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file)
    with sign_at_end(environment, decisions):
        install_skill(decisions, habit, file, noted, consent)
    talk(f"Installed. Undo it: oneiros skills revert {habit.id[:8]}")


def revert(context: typer.Context, name: Annotated[str, typer.Argument(help="its name or id")]) -> None:
    """Take an installed skill away again; one that you changed since stays."""
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    found = [one for one in list_installed(decisions) if name and (one.text == name or one.hunk.startswith(name))]
    if not found:
        raise ContentError(f"no installed skill is called {name[:40]!r}", remedy="Name its folder or its id")
    place = found[-1].files[0].path
    file = environment.home / place[2:] if place.startswith("~/") else Path(place)
    with sign_at_end(environment, decisions):
        uninstall_skill(decisions, found[-1], file, ask_consent(environment))
    talk(f"{file} is gone.")


def _find_habit(environment: Environment, name: str) -> Habit:
    """A habit by the beginning of its id. Raises UsageError for none, ContentError where the gate refuses its skill."""
    archive = open_archive(require_memory(environment.choice.root))
    found = [habit for habit in read_habits(archive)[0] if name and habit.id.startswith(name)]
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
    top = find_top(environment.working_folder)
    common = git_common_directory(environment.working_folder)
    if top is None or common is None or habit.project not in ("", name_project(environment.choice.root, str(common))):
        where = f"the repository of {escape_line(habit.project)}" if habit.project else "a repository"
        raise UsageError(f"you do not stand in {where}", remedy="Run it there, or with --mine for all of your projects")
    folder = top / ".claude" / "skills"
    if not folder.resolve().is_relative_to(top.resolve()):
        raise UsageError(f"{folder} leads out of its repository", remedy="Use --mine, or put a folder there")
    return folder


def _format_quote(quote: Quote) -> str:
    day = f", {local(quote.time):%Y-%m-%d}" if quote.time else ""
    return f'you, session {cut_id8(quote.session_id)}{day}: "{escape_line(" ".join(quote.text.split()))}"'
