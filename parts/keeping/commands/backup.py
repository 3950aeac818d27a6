"""`oneiros backup`: all of a memory in one file, and back."""

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from memory_server.errors import UsageError
from memory_server.escaping import plural
from memory_server.fields import parse_day
from memory_server.machine.clock import find_day_begin, local
from memory_server.root.paths import MemoryRoot
from oneiros.cli.consent import require_person
from oneiros.cli.maintenance import brought_level
from oneiros.cli.terminal.output import AsJson, data_json, talk
from oneiros.dreaming import build_decisions, open_decisions
from oneiros.environment import Environment, now
from oneiros.ingest import forgetting
from oneiros.ingest.settings import ingest_settings
from parts.keeping.backup import KIND, Restoring, back_up, bring_back, read_backups
from parts.keeping.bundle import Bundle, read_bundle

UNVOUCHED = (
    "No fingerprint vouches for it: what your key signed counts, and other decisions and commits explain nothing here"
    " until you adopt the files. Name the fingerprint with --fingerprint, as `oneiros backup` printed it."
)


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros backup /mnt/disk/memory.tar.zst")(backup)


def backup(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="the file to write", show_default=False)] = None,
    since: Annotated[str, typer.Option(help="only what is not in this backup, or changed since: 2026-03-01")] = "",
    restore: Annotated[list[Path] | None, typer.Option(help="bring it back; repeat for increments")] = None,
    fingerprint: Annotated[str, typer.Option(help="of the last file, as it was printed when it was made")] = "",
    as_json: AsJson = False,
) -> None:
    """Write all of the memory to a file, or bring it back.

    Root and state, all but what is derived, while a daemon may run; read back and compared. Keep the fingerprint: by it
    unsigned decisions count again where the backup is restored.
    """
    environment: Environment = context.obj
    if (file is None) == (not restore):
        remedy = "`oneiros backup FILE` writes it, `oneiros backup --restore FILE` brings it back"
        raise UsageError("name the file of the backup", remedy=remedy)
    if restore:
        _restore(environment, [environment.working_folder / one for one in restore], fingerprint, as_json=as_json)
        return
    assert file is not None
    earlier = _parse_since(environment, since)
    made = back_up(open_decisions(environment), environment.working_folder / file, now(), earlier)
    size = made.file.stat().st_size
    if as_json:
        files = {"files": len(made.manifest.files), "held": len(made.held)}
        data_json({"file": str(made.file), "fingerprint": made.fingerprint, "bytes": size, **files})
    else:
        held = f"{plural(len(made.held), 'file')}, {size / 1e6:,.2f} MB"
        talk(f"{held}, read back and the same. Fingerprint: {made.fingerprint}")


def _parse_since(environment: Environment, text: str) -> Bundle | dt.datetime | None:
    if not text:
        return None
    file = environment.working_folder / text
    if file.is_file():
        return read_bundle(file, KIND)
    return find_day_begin(parse_day(text))


def _restore(environment: Environment, files: list[Path], fingerprint: str, *, as_json: bool) -> None:
    root = environment.choice.root
    wanted = read_backups(root, files, fingerprint)
    if not wanted.is_vouched:
        talk(UNVOUCHED)
    require_person(environment, _what(wanted, root))
    forgotten = bring_back(wanted, environment.person.signing_key)
    decisions = build_decisions(root, environment.person)
    if forgotten:
        settings = ingest_settings(environment, root)
        forgetting.carry_out(root, environment.person, settings, forgetting.plan_forgetting(root, forgotten))
    doubts = len(decisions.find_unexplained())
    if not as_json:
        talk("The files are back. The indices are made anew, which takes some minutes for a large memory.")
    report = brought_level(environment)
    if as_json:
        data_json({"root": str(root.path), "vouched": wanted.is_vouched, "forgotten": forgotten, "unexplained": doubts})
        return
    stays = f" {len(forgotten)} sessions that you forgot since stay out." if forgotten else ""
    named = f" {doubts} files are explained by nothing: `oneiros report` names them." if doubts else ""
    talk(f"Restored to {root.path}, {plural(report['chunks'], 'passage')}.{stays}{named}")


def _what(wanted: Restoring, root: MemoryRoot) -> str:
    last = wanted.bundles[-1]
    made = dt.datetime.fromisoformat(last.manifest.made)
    files = f"{len(last.manifest.files)} files of {local(made):%Y-%m-%d}, fingerprint {last.fingerprint}"
    return f"restore {last.file.name} ({files}) to {root.path}"
