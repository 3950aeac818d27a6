"""The archive: `verify`; turns go to a file and come back by `prune` and `restore`, which only a person does."""

import dataclasses
import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from crawler.archive.store import Archive, SessionRecord
from dream.blame import count_citations
from memory_server.errors import UsageError
from memory_server.escaping import plural
from memory_server.layers.sessions import cut_id8
from memory_server.lifecycle.fading import read_marks
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.cli.consent import require_person
from oneiros.cli.maintenance import brought_level
from oneiros.cli.terminal.output import AsJson, data, data_json, talk
from oneiros.environment import Environment, now
from oneiros.ingest.settings import open_archive
from parts.keeping.bundle import require_new
from parts.keeping.pruning import Pruning, oldest

SHOWN = 20
MEGABYTE = 1_000_000


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    archive = typer.Typer(
        help="The archive of everything that was said.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="\b\nExample: oneiros archive verify",
    )
    archive.command(epilog="\b\nExample: oneiros archive verify")(verify)
    archive.command(epilog="\b\nExample: oneiros archive prune --older-than 730 --to /mnt/disk/old.tar.zst")(prune)
    archive.command(epilog="\b\nExample: oneiros archive restore /mnt/disk/old.tar.zst")(restore)
    app.add_typer(archive, name="archive")


def verify(context: typer.Context, as_json: AsJson = False) -> None:
    """Read every object of the archive again, and report what is missing or damaged."""
    environment: Environment = context.obj
    archive = open_archive(environment.choice.root)
    problems = archive.verify()
    if as_json:
        data_json({"sessions": len(archive.session_ids()), "problems": [dataclasses.asdict(one) for one in problems]})
    else:
        for problem in problems:
            data(str(problem))
        talk(f"{plural(len(archive.session_ids()), 'session')}, {plural(len(problems), 'problem')}.")
    if problems:
        raise typer.Exit(1)


def prune(
    context: typer.Context,
    older_than: Annotated[int, typer.Option(min=0, help="days since the last entry; 0: down to archive_max_mb")] = 0,
    to: Annotated[Path | None, typer.Option(help="the file that they go to", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be done")] = False,
    as_json: AsJson = False,
) -> None:
    """Move old turns into a file, which is read back before they go.

    What a footnote, an open proposal or a decision rests on stays, and what you keep. Compressed files and topics stay;
    `drill` then names the file.
    """
    environment: Environment = context.obj
    root = require_memory(environment.choice.root)
    archive = open_archive(root)
    chosen = prunable(root, archive, older_than, environment.person.archive_max_mb * MEGABYTE, now())
    size = sum(count_bytes(archive, archive.record(session_id)) for session_id in chosen)
    if not as_json:
        for session_id in chosen[:SHOWN]:
            data(f"{archive.record(session_id).ended[:10]}  {session_id}")
        talk(f"{len(chosen)} sessions, {size / MEGABYTE:,.2f} MB, on which nothing rests.")
    if chosen and not dry_run:
        file = _new_file(environment, root, to)
        require_person(environment, f"move the turns of {len(chosen)} sessions out of the archive, to {file}")
        made = Pruning(archive).export(chosen, file, now())
        brought_level(environment)
        if not as_json:
            talk(f"Moved, read back and the same. Bring them back: oneiros archive restore {made.file}")
    if as_json:
        data_json({"sessions": chosen, "bytes": size, "done": bool(chosen) and not dry_run})


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="that prune wrote")],
    as_json: AsJson = False,
) -> None:
    """Bring turns back that were moved into a file, bit for bit."""
    environment: Environment = context.obj
    pruning = Pruning(open_archive(require_memory(environment.choice.root)))
    back, out = pruning.restore(environment.working_folder / file, now())
    brought_level(environment)
    if as_json:
        data_json({"restored": back, "left_out": out})
    else:
        stays = f" {len(out)} are there already, or were forgotten." if out else ""
        talk(f"{len(back)} sessions are back.{stays}")


def prunable(root: MemoryRoot, archive: Archive, older_than: int, most_bytes: int, at: dt.datetime) -> list[str]:
    """The sessions on which nothing rests that are too old, or beyond the size that a person has set."""
    if not older_than and not most_bytes:
        raise UsageError("nothing says what is old", remedy="Give --older-than DAYS, or set archive_max_mb")
    held, records = {*count_citations(root), *read_marks(root.marks).to_keep}, list(archive.records())
    if not older_than:
        beyond = oldest(records, lambda record: count_bytes(archive, record), most_bytes)
        return [session_id for session_id in beyond if cut_id8(session_id) not in held]
    last = (at - dt.timedelta(days=older_than)).isoformat()
    return [one.session_id for one in records if "" < one.ended < last and cut_id8(one.session_id) not in held]


def count_bytes(archive: Archive, record: SessionRecord) -> int:
    return sum(file.stat().st_size for file in archive.list_objects(record) if file.exists())


def _new_file(environment: Environment, root: MemoryRoot, to: Path | None) -> Path:
    if to is None:
        raise UsageError("no file is named", remedy="Say where they go: --to FILE, on another disk at best")
    file = environment.working_folder / to
    require_new(root.path, file)
    return file
