"""`oneiros dream blame`, `why` and `unlearn`: where a line is from, why a hunk is proposed, what decisions move."""

from typing import Annotated

import typer

from dream.blame import Blame, blame
from dream.judge.learned import Learned, forget_learned, read_learning_start
from memory_server.errors import UsageError
from memory_server.escaping import escape_line, escape_text
from memory_server.machine.clock import local
from oneiros.cli.dreaming import HunkName
from oneiros.cli.terminal.output import AsJson, data, data_json, talk
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment
from oneiros.ingest.settings import open_archive
from oneiros.opening import open_memory


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command("blame", epilog="\b\nExample: oneiros dream blame mail:12")(blame_line)
    app.command(epilog="\b\nExample: oneiros dream why 3fa9c1d2")(why)
    app.command(epilog="\b\nExample: oneiros dream unlearn")(unlearn)


def blame_line(
    context: typer.Context,
    place: Annotated[str, typer.Argument(metavar="TOPIC:LINE", help="a topic and a line of its file")],
    as_json: AsJson = False,
) -> None:
    """Show whose words stand behind a line of a topic."""
    environment: Environment = context.obj
    name, _, number = place.rpartition(":")
    if not name or not number.isdigit():
        raise UsageError(f"{place!r} names no line", remedy="Write TOPIC:LINE, such as mail:12")
    decisions = open_decisions(environment)
    with open_memory(environment) as memory:
        reading = memory.read(name)
    found = blame(reading.text, int(number), decisions.store, open_archive(decisions.root), decisions.is_signed)
    if as_json:
        data_json({"path": reading.path, "line": int(number), "behind": [_blame_json(one) for one in found]})
    else:
        for one in found:
            _show_blame(one)
    if not found:
        talk(f"No proposal stands behind {reading.path}:{number}: a person wrote it by hand.")
        raise typer.Exit(1)


def _show_blame(found: Blame) -> None:
    unsigned = "" if found.is_signed else ", unsigned"
    when = f", approved {local(found.approved):%Y-%m-%d}{unsigned}" if found.approved else ""
    data(f"[^{found.label}]  {f'hunk {found.hunk}' if found.hunk else 'not among the approvals'}{when}")
    for source in found.sources:
        time = f"{local(source.time):%Y-%m-%d %H:%M}" if source.time else "undated"
        data(f"  {source.role}, {time}, {escape_line(source.where)}:")
        for line in escape_text(source.text or "(gone from the archive)" if source.entry else source.text).split("\n"):
            data(f"    > {line}")


def _blame_json(found: Blame) -> dict[str, object]:
    sources = [
        {
            "session": source.session_id,
            "entry": source.entry,
            "role": source.role,
            "time": source.time.isoformat() if source.time else None,
            "text": source.text,
            "exact": source.is_whole,
            "where": source.where,
        }
        for source in found.sources
    ]
    approved = found.approved.isoformat() if found.approved else None
    known = {"footnote": found.label, "hunk": found.hunk, "approved": approved, "signed": found.is_signed}
    return {**known, "sources": sources}


def why(context: typer.Context, hunk: HunkName, as_json: AsJson = False) -> None:
    """Show why a hunk is proposed, and what your decisions so far do to it."""
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    store, root = decisions.store, decisions.root
    found, learned = store.hunk(hunk), Learned(store.hunks(), read_learning_start(root))
    candidate = found.update.candidate
    reasons = {
        "why": candidate.why,
        "comparison": found.update.why,
        "decisions": learned.words(candidate.kind, candidate.source),
    }
    if as_json:
        shift = learned.shift(candidate.kind, candidate.source)
        data_json({"id": found.id, "confidence": candidate.confidence, **reasons, "shift": shift})
        return
    data(f"{found.id}  {escape_line(found.text)}")
    data(f"  {candidate.kind}, {candidate.extractor}: {escape_line(candidate.why)}, {candidate.confidence:.2f}")
    data(f"  {escape_line(reasons['comparison'])}")
    data(f"  your decisions: {reasons['decisions']}")


def unlearn(context: typer.Context) -> None:
    """Let your decisions so far move nothing any more; they themselves stay."""
    decisions = open_decisions(context.obj)
    forget_learned(decisions.root, decisions.now())
    talk("What is proposed first is no longer moved by what you decided before.")
