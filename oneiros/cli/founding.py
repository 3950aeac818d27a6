"""Setting a memory up: `init`, `trust`, `config`."""

import dataclasses
import os
import socket
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from memory_server.document import Layer, SourcePath
from memory_server.embedding.catalogue import DEFAULT_MODEL, Catalogue, find_packaged_model
from memory_server.embedding.model import SETTING_OF, ModelCard, ModelFiles, ModelKind
from memory_server.errors import NeedsRepair, UsageError, nearest_or
from memory_server.escaping import escape_line, plural
from memory_server.layers.sessions import project_name
from memory_server.layers.topics import find_sources, topic_name
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.settings import MemorySettings, PersonSettings, read_memory_settings
from memory_server.settings_file import change_setting, parse_setting, setting_text, settings_keys, toml_value
from oneiros.cli.consent import require_person
from oneiros.cli.maintenance import brought_level
from oneiros.cli.readings import offer_reader
from oneiros.cli.terminal.output import AsJson, data, data_json, is_conversation, talk
from oneiros.daemon.sockets import end_daemon
from oneiros.doctor import language_check
from oneiros.environment import Environment, now
from oneiros.first_steps import FirstSteps, duration_text, first_steps
from oneiros.founding import found_memory, is_example, set_aside, trust_root
from oneiros.ingest.settings import own_project
from oneiros.light.endpoint import is_running
from oneiros.light.person_only import PERSON_SETTINGS
from oneiros.opening import open_memory

EXIT_FINDING = 1
MODEL_KINDS = {setting: kind for kind, setting in SETTING_OF.items()}
MEGABITS_A_SECOND = 20  # of a home's line, for how long a download takes
NOBODYS = ("192.0.2.1", "2001:db8::1")  # addresses of documentation, RFC 5737 and 3849
LATER = "The packaged model serves; `oneiros model {0} --download` fetches this one, `oneiros model {0}` changes to it."
Folder = Annotated[Path | None, typer.Argument(help="the folder of the memory", show_default=False)]


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros init --example")(init)
    app.command(epilog="\b\nExample: oneiros trust ./memory")(trust)
    app.command(epilog="\b\nExample: oneiros config embedding_share 0.5")(config)
    app.command(epilog="\b\nExample: oneiros mute topics/mail.md --project shop")(mute)


def init(
    context: typer.Context,
    folder: Folder = None,
    model: Annotated[str, typer.Option(help="embedding model; `oneiros model --list` names them")] = "",
    download: Annotated[bool, typer.Option("--download", help="fetch the model from the hub")] = False,
    example: Annotated[bool, typer.Option("--example", help="start with the example memory about oneiros")] = False,
    own: Annotated[bool, typer.Option("--own", help="put the example aside and start a memory of your own")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="run the commands that it names for your transcripts, too")
    ] = False,
) -> None:
    """Make a memory, choose its model, and say what to do next."""
    environment: Environment = context.obj
    root = environment.choice.root if folder is None else environment.resolve_root(folder)
    if own:
        _leave_example(environment, root, goes_on=everything)
    if everything and not example and is_example(root):
        _confirm_example(root)
    is_new = not root.index_page.exists()
    if _needs_consent(environment, root):
        require_person(environment, f"make and trust the memory {root.path}", is_setting=True)
    settings, of_account = (read_memory_settings(one.settings) for one in (root, environment.own_root))
    files = choose_model(model or settings.model or of_account.model, environment.catalogue, download=download)
    for line in found_memory(root, files.card.name, with_example=example):
        talk(line)
    talk(f"Model: {files.card.name}, {files.reason}.")
    if root != environment.own_root:
        trust_root(environment.person_file, environment.person, root.path)
        talk(f"Trusted: {root.path}, noted in {environment.person_file}")
    there = dataclasses.replace(environment, variables={**environment.variables, "ONEIROS_ROOT": str(root.path)})
    if is_new or not everything:  # else --all goes on with what was interrupted, and leaves the indices to the daemon
        _index(there)
    _tell_language(there)
    for part in environment.parts:
        if part.on_founding:
            try:
                part.on_founding(environment, is_new)
            except NeedsRepair as error:  # the memory is there, and the rest goes on
                talk(str(error))
    now_chosen = dataclasses.replace(environment)  # which looks again which memory is meant
    offer_reader(now_chosen, root)
    if example and not everything:
        return
    if not is_new and is_example(root):
        talk("This is the example memory, about oneiros itself. One of your own: oneiros init --own")
    if now_chosen.choice.root == root and (first := first_steps(now_chosen, root, now(), os.getloadavg()[0])):
        _tell_steps(first)
        if everything:
            _run_steps(first, context, now_chosen)
    elif (project := own_project(root, {})) or everything:
        whose = escape_line(project_name(project)) if project else "this machine"
        talk(f"No transcript of {whose} waits for this memory.")
        if everything and not is_new:
            _index(there)


def _leave_example(environment: Environment, root: MemoryRoot, *, goes_on: bool) -> None:
    """Puts the account's example memory aside. Raises UsageError where another memory is meant, or is there: one of the
    person's own is fine where the command `goes_on` with what was interrupted.
    """
    if root != environment.own_root:
        raise UsageError(f"{root.path} is not your account's memory", remedy=f"It is {environment.own_root.path}")
    if not root.index_page.exists() or (goes_on and not is_example(root)):
        return
    if not is_example(root):
        raise UsageError(f"{root.path} is a memory of your own already", remedy="oneiros init brings it up to date")
    if is_running(str(root.path)):
        end_daemon(root)
    talk(f"The example lies in {set_aside(root)} now.")


def _confirm_example(root: MemoryRoot) -> None:
    """Asks before sessions are taken into the example. Raises UsageError where nobody can answer."""
    what, remedy = "this is the example memory, about oneiros itself", "One of your own: oneiros init --own --all"
    if not is_conversation():
        raise UsageError(what, where=root.path, remedy=remedy)
    talk(f"{root.path}: {what}. {remedy}")
    typer.confirm("Take your sessions into the example", default=False, err=True, abort=True)


def _index(environment: Environment) -> None:
    """Brings the indices level, and says what can be asked."""
    passages = brought_level(environment)["chunks"]
    talk(f"Indexed {plural(passages, 'passage')}. Ask: oneiros recall 'a question'" if passages else "It is empty.")


def _tell_language(environment: Environment) -> None:
    """Says which model would serve a memory that the chosen one does not read."""
    with open_memory(environment) as memory:
        found = language_check(memory)
    if found.repair:
        talk(f"Note: {found.detail}. {found.repair}")


def _tell_steps(first: FirstSteps) -> None:
    talk(f"\nFound {first.found} Next:")
    for step in first.steps:
        talk(f"  oneiros {step.command:16} about {duration_text(step.seconds):6}  {step.what}")
    talk("All of them in this order: oneiros init --all. Then decide: oneiros review")


def _run_steps(first: FirstSteps, context: typer.Context, environment: Environment) -> None:
    """Runs the commands as if they were typed one after the other; an error ends it, a finding does not."""
    commands: Any = context.find_root().command
    for step in first.steps:
        talk(f"\n$ oneiros {step.command}")
        code = commands.main(step.command.split(), "oneiros", standalone_mode=False, obj=environment)
        if code and code > EXIT_FINDING:
            raise typer.Exit(code)


def _needs_consent(environment: Environment, root: MemoryRoot) -> bool:
    """Whether a memory is another than the account's, and lies outside of the home or holds something already."""
    known = {environment.own_root.path, *map(Path, environment.person.trusted_roots)}
    is_outside = not root.path.is_relative_to(environment.home)
    return root.path not in known and (is_outside or root.index_page.exists())


def trust(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="a folder with a MEMORY.md")],
    remove: Annotated[bool, typer.Option("--remove", help="trust it no longer")] = False,
) -> None:
    """Let a memory inside a repository take effect, or no longer."""
    environment: Environment = context.obj
    path = environment.resolve_root(folder).path
    if not remove and not (path / "MEMORY.md").is_file():
        raise UsageError("there is no MEMORY.md in that folder", where=path, remedy="Name the folder of a memory")
    require_person(environment, f"{'trust no longer' if remove else 'trust'} {path}", is_setting=True)
    trust_root(environment.person_file, environment.person, path, is_trusted=not remove)
    if remove:
        talk(f"Not trusted any more: {path}")
    else:
        talk(f"Trusted: {path}. Its topics are rank 1 from now on wherever it is the nearest memory.")


def config(
    context: typer.Context,
    key: Annotated[str | None, typer.Argument(help="a setting; without one all are shown", show_default=False)] = None,
    value: Annotated[str | None, typer.Argument(help="what it is to be", show_default=False)] = None,
    off: Annotated[bool, typer.Option("--off", help="with mute: let them speak again")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or change a setting: yours, and the memory's own few.

    `oneiros config mute PROJECT`: hooks put nothing before the model in the sessions of a project, by name or folder.
    """
    environment: Environment = context.obj
    if key == "mute" and value:
        change_muted(environment, "muted_projects", value, off=off)
        return
    key = "muted_projects" if key == "mute" else key
    if off:
        raise UsageError("--off goes with mute", remedy="oneiros config mute PROJECT --off")
    root = environment.choice.root
    person, memory = environment.person, read_memory_settings(root.settings)
    values = dataclasses.asdict(person) | dataclasses.asdict(memory)
    values["references"] = msgspec.to_builtins(person.references)  # tables, as they are written
    if key is None:
        if as_json:
            data_json(values)
            return
        for kind, file in ((PersonSettings, environment.person_file), (MemorySettings, root.settings)):
            data(f"# {file}")
            for name in settings_keys(kind):
                data(f"{name} = {toml_value(values[name])}\n    # {setting_text(kind, name)}")
        return
    if key not in values:
        raise UsageError(f"there is no setting {key!r}", remedy=nearest_or("`oneiros config` shows all", key, values))
    is_own = key in settings_keys(PersonSettings)
    kind, file = (PersonSettings, environment.person_file) if is_own else (MemorySettings, root.settings)
    if value is None:
        data_json({key: values[key]}) if as_json else data(str(values[key]))
        talk(setting_text(kind, key))
        return
    if key == "model":
        value = environment.catalogue.card(value, ModelKind.DENSE).name
    elif value and (kind_of_model := MODEL_KINDS.get(key)):
        value = environment.catalogue.find(value, kind_of_model).card.name
    if not is_own:
        require_memory(root)
    parsed = parse_setting(kind, key, value)
    if key in PERSON_SETTINGS:
        require_person(environment, f"set {key} to {value}", is_setting=True)
    change_setting(file, key, parsed, follow=is_own)
    talk(f"{key} = {value}, in {file}")
    if key in ("model", "late_model"):
        talk("Every passage will be embedded anew: oneiros reindex")
    elif key == "sparse_model" and value:
        talk("Every passage will be weighed: oneiros reindex")
    if key in MODEL_KINDS:
        talk("A daemon that runs takes it up at its next start: oneiros stop")


def mute(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="a topic, as a pointer names it: topics/mail.md, or mail")],
    project: Annotated[str, typer.Option(help="only in the sessions of this project")] = "",
    off: Annotated[bool, typer.Option("--off", help="let hooks point to it again")] = False,
) -> None:
    """Let hooks point to a topic no longer; recall still finds it."""
    environment: Environment = context.obj
    path = topic if topic == "lessons.md" else f"topics/{topic_name(SourcePath(topic.partition(':')[0]))}.md"
    root = require_memory(environment.choice.root)
    if not off and not root.file(SourcePath(path)).is_file():
        known = map(topic_name, (source.path for source in find_sources(root) if source.layer is Layer.TOPIC))
        raise UsageError(f"there is no {path}", remedy=nearest_or("`oneiros topics` lists the names", topic, known))
    change_muted(environment, "muted_pointers", f"{project}={path}" if project else path, off=off)


def change_muted(environment: Environment, key: str, rule: str, *, off: bool) -> None:
    """Adds a rule to one of the person's lists of what is muted, or takes it out."""
    rules: tuple[str, ...] = getattr(environment.person, key)
    if off and rule not in rules:
        raise UsageError(f"{rule} is not muted", remedy=f"`oneiros config {key}` lists what is")
    others = tuple(one for one in rules if one != rule)
    change_setting(environment.person_file, key, others if off else (*others, rule), follow=True)
    talk(f"{'Heard again' if off else 'Muted'}: {rule}, in {environment.person_file}")


def choose_model(name: str, catalogue: Catalogue, *, download: bool) -> ModelFiles:
    """The model to use: the one asked for, else bge where it is or may be fetched, else the packaged one.

    Nothing is downloaded unless `download` says so or the person agrees on a terminal, with size and revision shown.
    What was only offered and does not come is one sentence.
    """
    card = catalogue.card(name or DEFAULT_MODEL, ModelKind.DENSE)
    is_offered = not name and not download and is_conversation()
    if catalogue.here(card) is None and (download or (is_offered and _agrees_to_download(card))):
        talk(f"Fetching {_download_text(card)}")
        try:
            return catalogue.download(card)
        except NeedsRepair as error:
            if not is_offered or find_packaged_model() is None:
                raise
            talk(f"{error.what}. {LATER.format(card.name)}")
    return catalogue.find(name)


def _agrees_to_download(card: ModelCard) -> bool:
    if not has_route():
        talk(f"There is no network. {LATER.format(card.name)}")
        return False
    talk("A model on this machine answers by meaning. A smaller one is here; this one can be fetched:")
    talk(f"{_download_text(card)}.\n{card.note}")
    return typer.confirm(f"Download {card.name}, {card.megabytes:,} MB", default=True, err=True)


def _download_text(card: ModelCard) -> str:
    weights = card.sha256.get(card.weights, "not known; it is recorded when it comes")
    took = duration_text(card.megabytes * 8 / MEGABITS_A_SECOND)
    size = f"{card.megabytes:,} MB (about {took} at {MEGABITS_A_SECOND} Mbit/s)"
    return f"{card.repository}, {size}, revision {card.revision}, sha256 {weights}"


def has_route() -> bool:
    """Whether this machine could reach another network. Nothing is sent: a datagram's socket only looks for its way."""
    return any(map(_leads, (socket.AF_INET, socket.AF_INET6), NOBODYS))


def _leads(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((address, 443))
    except OSError:
        return False
    return True
