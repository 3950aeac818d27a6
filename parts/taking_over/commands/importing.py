"""What is written down already, offered as topics: `import`."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memory_server.errors import UsageError
from memory_server.escaping import escape_line, escape_text, join_counts, plural
from memory_server.layers.topics import shorten_text
from memory_server.redaction import Redactor
from oneiros.cli.arranging import arrange
from oneiros.cli.terminal.output import AsJson, OfAnyProject, data, data_json, talk
from oneiros.dreaming import open_decisions, tell_left
from oneiros.environment import Environment
from parts.taking_over.bundles import build_arrangement, read_bundle
from parts.taking_over.importing import Imported, import_files

NAMED = 12  # files of others, and lines refused, that are named one by one
CHARS = 110


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command("import", epilog="\b\nExample: oneiros import --dry-run && oneiros import && oneiros review")(take_over)


def take_over(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="files or folders; without any what Claude reads in your projects"),
    ] = None,
    others: Annotated[bool, typer.Option("--others", help="files that somebody else wrote, too")] = False,
    mif: Annotated[Path | None, typer.Option("--mif", help="a folder of MIF: each file as a topic, whole")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be offered")] = False,
    project: OfAnyProject = "",
    as_json: AsJson = False,
) -> None:
    """Offer what your CLAUDE.md, rules and notes say as topics.

    Read are CLAUDE.md, AGENTS.md, .claude/rules, Claude's own notes and docs/adr, of your home and of the projects in
    the transcripts. The files stay as they are; what changes in them is offered at the next import.
    """
    environment: Environment = context.obj
    if mif is not None:
        if paths:
            raise UsageError("--mif takes one folder", remedy="Import other files by themselves")
        _take_bundle(environment, environment.working_folder / mif, dry=dry_run)
        return

    def tell_filing() -> None:
        talk(f"{environment.person.reader} is asked where what waits goes, and for a wording.")

    imported = import_files(
        environment, paths or [], with_others=others, dry=dry_run, project=project, on_filing=tell_filing
    )
    if as_json:
        data_json(_json(imported))
    else:
        _show(imported, dry=dry_run)
    if not (imported.taken.updates or imported.references):
        raise typer.Exit(1)


def _show(imported: Imported, *, dry: bool) -> None:
    found, taken = imported.found, imported.taken
    for problem in found.problems:
        talk(str(problem))
    for place in taken.refused_at[:NAMED]:
        talk(escape_line(place))
    for name in found.others[:NAMED]:
        talk(f"{escape_line(name)} is left out: git says that somebody else wrote it.")
    if found.others:
        more = f" {len(found.others)} such files in all." if len(found.others) > NAMED else ""
        talk(f"With --others they are read too.{more}")
    for target, count in Counter(update.place.target for update in taken.updates).items():
        data(f"{target}  {plural(count, 'statement')}")
        if dry:
            texts = (update.candidate.text for update in taken.updates if update.place.target == target)
            data("\n".join(f"  {shorten_text(escape_line(text), CHARS)}" for text in texts))
    for name in imported.references:
        data(name)
    talk(_sum(imported))
    if imported.looked_in and not taken.files:
        talk(f"Looked in {_name_places(imported.looked_in)}. In this folder: oneiros import .")
    if imported.gone:
        read = "Of these projects only Claude's own notes are read. Where one lies elsewhere now: oneiros import FOLDER"
        talk(f"Not there: {_name_places([*imported.gone.values()])}. {read}")
    for line in tell_left(imported.filed):
        talk(line)
    if taken.proposal:
        talk(f"proposals/{taken.proposal}/proposal.md. Decide: oneiros review, a whole topic at the key f")


def _name_places(places: Sequence[Path]) -> str:
    more = f" and {len(places) - NAMED} more" if len(places) > NAMED else ""
    return escape_line(", ".join(map(str, places[:NAMED]))) + more


def _sum(imported: Imported) -> str:
    taken, is_new = imported.taken, bool(imported.taken.updates or imported.references)
    read = f"{plural(taken.files, 'file')} read in {imported.seconds:.1f} s"
    statements = f", {plural(taken.statements, 'statement')}" if taken.statements else ""
    parts = join_counts(
        (not is_new, "Nothing new" if taken.files else "No file read"),
        (taken.files, f"{read}{statements}"),
        (len(taken.updates), f"{len(taken.updates)} offered"),
        (taken.changed, f"{taken.changed} of them in the place of what a file said before"),
        (taken.known, f"{taken.known} known or offered before"),
        (taken.duplicates, f"{taken.duplicates} say what another does"),
        *((count, f"{count} refused: {reason}") for reason, count in sorted(taken.refused.items())),
        between="; ",
    )
    left_out = f" {taken.left_out} left out: code blocks, tables and pointers." if taken.left_out else ""
    return f"{parts}.{left_out}"


def _json(imported: Imported) -> dict[str, object]:
    taken = imported.taken
    counts = {field.name: getattr(taken, field.name) for field in dataclasses.fields(taken) if field.name != "updates"}
    hunks = [
        {
            "target": update.place.target,
            "title": update.place.title,
            "relation": update.relation.value,
            "text": update.candidate.text,
            "written": [words.describe_place("") for words in update.candidate.given],
        }
        for update in taken.updates
    ]
    gone = list(map(str, imported.gone.values()))
    problems = [str(problem) for problem in imported.found.problems]
    offered = {"offered": len(hunks), "hunks": hunks, "others": imported.found.others, "problems": problems}
    return {**counts, **offered, "references": imported.references, "gone": gone, "seconds": round(imported.seconds, 2)}


def _take_bundle(environment: Environment, folder: Path, *, dry: bool) -> None:
    """Takes the files of a MIF bundle as topics, each shown whole before."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", remedy="Name the folder of a MIF bundle")
    decisions = open_decisions(environment)
    bundle = read_bundle(folder, Redactor(environment.person.deny_words))
    for problem in bundle.problems:
        talk(escape_text(str(problem)))
    arrange(environment, decisions, lambda texts: build_arrangement(bundle, texts), is_whole=True, dry=dry)
