"""`status`: what the memory holds, which one it is, and how its indices stand.

The daemon is asked first; where none answers, the memory is opened here.
"""

import shlex
import shutil
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from memory_server.completeness import LEVEL, OF_MEMORY, tell_stage
from memory_server.errors import Problem
from memory_server.escaping import escape_line, plural
from memory_server.root.state import states_without_root
from oneiros.cli.serving import daemon_address, daemon_json
from oneiros.cli.terminal.output import AsJson, OfProject, data_json, moment_text, see_stdout, show, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment

if TYPE_CHECKING:
    from oneiros.ingest.readings import ReadingStates
    from oneiros.served import MachineState

MOST_NOTES, NOTE_CHARS = 5, 100  # of what sessions told each other
ANSWER_SECONDS = 30.0  # of a daemon on a busy machine; beyond, its memory is opened here


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros status --json")(status)


def status(context: typer.Context, project: OfProject = "", as_json: AsJson = False) -> None:
    """Tell what the memory holds and how its indices stand."""
    if project:
        from oneiros.daemon.status import project_status  # crawler and dream, for this alone

        found, lines_of = project_status(context.obj, project), _project_lines
    else:
        found, lines_of = _collect_status(context.obj), list_lines
    if as_json:
        data_json(found)
    else:
        for line in lines_of(found):
            show(line)
    if project and not any((found["topics"], found["sessions"], found["proposed"], found["queued"])):
        raise typer.Exit(1)


def show_next_steps(environment: Environment) -> None:
    """What is there to do now: a command a line, each with its reason."""
    root = environment.choice.root
    if root.index_page.exists():
        from oneiros.founding import is_example  # a hundred modules, for this alone

        found = _collect_status(environment)
        head = f"{root.path}: {_sources_text(found) or 'nothing is in it yet'}."
        steps = list(_list_next_steps(found, "init --own --all" if is_example(root) else "ingest"))
        ask = f"{'' if steps else 'Nothing waits for you. '}Ask: oneiros recall 'a question'. "
    else:
        from oneiros.first_steps import tell_waiting  # the crawler, for this alone

        head, ask = f"There is no memory yet in {root.path}.", ""
        if str(root.path) in {path for _, path in states_without_root(root.states)}:
            link = f"ln -s ITS_FOLDER {shlex.quote(str(root.path))}"
            head = f"The memory that lay in {root.path} is there no more. Put it back, or link it: {link}"
        steps = [("init --all", tell_waiting(environment, root))]
    show(head)
    for command, why in steps:
        show(f"  {see_stdout().style(f'oneiros {command}', bold=True)}  {why}")
    talk(f"{ask}Every command: oneiros --help")


def _list_next_steps(found: Mapping[str, Any], taking_in: str = "ingest") -> Iterator[tuple[str, str]]:
    """The commands that something waits for, each with what; `taking_in` is the one for transcripts."""
    if count := found["not_archived"]:
        deleted = f"; Claude Code deletes {found['expiring']} of them this week" if found["expiring"] else ""
        yield taking_in, f"{plural(count, 'transcript')} not archived yet{deleted}"
    yield from (("report", loss) for loss in found.get("losses", ()))
    for notice in found.get("waiting", ()):  # an older daemon tells none
        what, _, command = notice.rpartition(": ")
        yield command.replace("/oneiros:", "").removeprefix("oneiros "), what
    if found["problems"]:
        yield "validate", f"{plural(len(found['problems']), 'problem')} of its files"


def _collect_status(environment: Environment) -> dict[str, Any]:
    """How the memory stands, for programs."""
    choice = environment.choice
    ignored = str(choice.ignored) if choice.ignored else None
    client = Client.of(environment)
    try:
        found = client.ask("GET", "/api/standing", seconds=ANSWER_SECONDS)
        indexing = client.ask("GET", "/api/indexing", seconds=ANSWER_SECONDS)
    except DaemonLost:
        from oneiros.daemon.status import read_status
        from oneiros.opening import open_memory

        with open_memory(environment) as memory:
            found, indexing = read_status(environment, memory), None
    jobs, hooks = found["schedule"], found["hooks"]
    running = {"daemon": daemon_json(choice.root), "indexing": indexing, "schedule": jobs, "hooks": hooks}
    chosen = {"chosen": choice.reason, "ignored": ignored, "places": environment.places(choice.root)}
    held = {name: value for name, value in found.items() if name not in running}
    return type(found)({**held, **chosen, **running})  # which says of itself what an older daemon left out


def list_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """How the memory stands, for a person: in a sentence, what is missing, what it holds, and how that is made."""
    yield format_verdict(found)
    if lacks := found.get("lacks"):
        yield f"lacking   {lacks}"
    yield from (f"lost      {loss}: oneiros report" for loss in found.get("losses", ()))
    if found["indexing"] and (error := found["indexing"]["error"]):
        yield f"problem   {error}"
    yield from (f"problem   {Problem(**problem)}" for problem in found["problems"])
    if ignored := found["ignored"]:
        yield f"ignored   {ignored}  (answers nothing, it may be somebody else's; if it is to: oneiros trust {ignored})"
    yield f"sources   {_sources_text(found) or 'none'}"
    yield f"archive   {_archive_text(found)}"
    if found.get("readings"):  # an older daemon tells of none
        yield f"readings  {_readings_text(found['readings'])}"
    yield from (f"machine   {_machine_text(machine)}" for machine in found["machines"])
    for note in found.get("notes", ())[:MOST_NOTES]:
        text = escape_line(note["text"][:NOTE_CHARS])
        yield f"note      {note['kind']}, {note['age']}, in {escape_line(note['path'])}: {text}"
    yield f"indices   {found['level']}"
    yield f"daemon    {_daemon_text(found['daemon'], found['indexing'])}"
    yield f"memory    {found['root']}  ({found['chosen']})"
    yield f"state     {found['places']['state']}"
    size = f"{found['index_bytes'] / 1e6:.1f} MB on disk"
    yield f"passages  {found['passages']} by words, {found['semantic']} by meaning; {size}"
    yield f"model     {found['model']}, {found['model_reason']}"
    if semantic := (found["indexing"] or {}).get("semantic"):
        looks = found["indexing"]["looks"]
        counts = f"{looks['chromadb']} looks by ChromaDB, {looks['scan']} by a scan"
        yield f"meaning   answered by {semantic}; so far {counts}"
    is_daemon = found["owner"] == f"process {found['daemon']['pid']}"
    yield f"owner     {found['owner'] or 'no process'}{', the daemon' if is_daemon else ''}"
    yield from (f"schedule  {_job_text(job)}" for job in found["schedule"])
    yield f"queries   {found['queries_logged']} in the local log"
    if used := found.get("used"):  # which an older daemon does not tell
        found_ones = plural(used["found"], "source")
        yield f"use       {found_ones} found, {used['opened']} opened, {used['drilled']} drilled into"
    for receipt in found["hooks"][:1]:
        yield f"hooks     {receipt['tokens']} tokens put into the last session, {receipt['injections']} times"


def format_verdict(found: Mapping[str, Any]) -> str:
    """Whether everything can be found, and what to do next."""
    steps = [f"oneiros {command} ({why})" for command, why in _list_next_steps(found)]
    is_level, indexing = found["level"] == LEVEL, found["indexing"]
    if not is_level and indexing and indexing["total"]:
        head = f"Indexing, {_stage_text(indexing)}: an answer may lack something."
    else:
        head = "Ready." if is_level else f"Ready, but {found['level']}."
    return f"{head} Next: {steps[0]}" if steps else f"{head} Nothing waits for you." if is_level else head


def _project_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """How a project stands, for a person."""
    yield f"project   {escape_line(found['project'])}"
    yield f"topics    {found['topics']}, and {plural(found['lessons'], 'lesson')}"
    last = f", the last {moment_text(found['last_session'])}" if found["last_session"] else ""
    yield f"sessions  {found['sessions']} archived{last}"
    yield f"readings  {found['by_model']} by a model, {found['waiting']} wait for one"
    yield f"proposals {found['proposed']} to review, {found['queued']} wait for another day"


def _sources_text(found: Mapping[str, Any]) -> str:
    """How many sources of every layer there are; lessons and the page of the index are no topics."""
    sources = found["sources"]
    held = {"topic": found["topics"], "session": sources["session"], "archived": sources["raw"]}
    named = {**held, "reference": sources["reference"]}
    ends = {name: "" if count == 1 or name == "archived" else "s" for name, count in named.items()}
    return ", ".join(f"{count} {name}{ends[name]}" for name, count in named.items() if count)


def _archive_text(found: Mapping[str, Any]) -> str:
    if found["not_archived"]:
        return f"{found['not_archived']} not archived yet, {found['expiring']} of them expire this week: oneiros ingest"
    is_whole = all(one["kind"] in OF_MEMORY for one in found.get("skipped", ()))
    of = found.get("archive_of", "this machine")  # an older daemon tells nothing of the rest
    archived = f"every session of {of}" if is_whole else "every session that can be read"
    left_out = found.get("left_out", 0)
    return f"{archived}, but {left_out} that you left out" if left_out else archived


def _readings_text(found: "ReadingStates") -> str:
    """By whom sessions were read, how many wait for the model, and what it has taken today."""
    text = f"{plural(found['by_rules'] + found['by_model'], 'session')}, {found['by_model']} of them by a model"
    if found["tokens_today"] is None:
        return f"{text}; reader: {found['reader']}; stopped: {found['stopped']}"
    if found["reader"] == "rules":
        more = " `oneiros config reader claude-cli` has Claude read" if shutil.which("claude") else ""
        return f"{text}; reader: rules, which offer little.{more}"
    spent = f"{found['tokens_today']:,} of {found['tokens_a_day']:,} tokens today"
    spent += f", {found['usd_today']:.2f} USD" if found["usd_today"] else ""
    stopped = f"; stopped until tomorrow: {found['stopped']}" if found["stopped"] else ""
    return f"{text}; reader: {found['reader']}, {found['waiting']} wait; {spent}{stopped}"


def _machine_text(machine: "MachineState") -> str:
    """When another machine was last seen, why it was not since, and what the client there deletes soon."""
    renamed = f" (machine:{machine['id']})" if machine["id"] not in ("", machine["name"]) else ""
    seen = f"last seen {moment_text(machine['seen'])}" if machine["seen"] else "not reached yet"
    failed = f"; failed {moment_text(machine['tried'])}: {machine['error']}" if machine["error"] else ""
    held = f"; {plural(machine['transcripts'], 'transcript')}, {machine['expiring']} of them expire there this week"
    noise = f"; it speaks before it answers: {machine['noise']}" if machine["noise"] else ""
    return f"{machine['name']}{renamed}: {seen}{failed}{held if machine['seen'] else ''}{noise}"


def _daemon_text(process: Mapping[str, Any], indexing: Mapping[str, Any] | None) -> str:
    if process["pid"] is None:
        return "none; `oneiros serve` or a client starts it"
    text = f"process {process['pid']}, {daemon_address(process)}" if process["port"] else "starting"
    if indexing is None:
        return text
    change = f", changing to {indexing['next_model']}" if indexing["next_model"] else ""
    return f"{text}; {_stage_text(indexing)}{change}; changes seen by {indexing['watching']}"


def _stage_text(indexing: Mapping[str, Any]) -> str:
    return tell_stage(indexing["stage"], indexing["progress"], indexing["total"])


def _job_text(job: Mapping[str, str]) -> str:
    """What a job of the daemon did last and when it is due, by the clock on the wall."""
    done, tried, due = (moment_text(job[key]) for key in ("done", "tried", "next"))
    last = f"{done}: {job['said']}" if done else "not yet"
    failed = f"; failed {tried}: {job['error']}" if job["error"] else ""
    return f"{job['name']}  {last}{failed}; {f'next {due}' if due else 'switched off'}"
