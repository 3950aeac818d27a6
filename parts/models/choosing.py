"""Models at a terminal: the list of them, one more, one fetched, one tried."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_server.embedding.catalogue import Addition, make_download_command
from memory_server.embedding.model import SETTING_OF, ModelCard, ModelFiles, ModelKind
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import escape_line
from memory_server.layers.topics import shorten_text
from memory_server.search.question import with_commands
from memory_server.settings import read_memory_settings
from oneiros.cli.consent import require_person
from oneiros.cli.terminal.output import data, data_json, talk
from oneiros.environment import Environment
from parts.models.cross_engine import CrossEngine
from parts.models.judging import Judged
from parts.models.late_engine import LateEngine
from parts.models.sparse_engine import SparseEngine
from parts.models.trying import FirstHit, Tried

LINE_CHARS = 120
SAMPLE = ("The cat sat on the mat.", "Tax law of 1923.")


def list_models(environment: Environment) -> dict[str, Any]:
    """Every model with its kind, size, licence and languages, and whether it is on this machine."""
    cards, bad = environment.catalogue.cards()
    used = _in_use(environment)
    return {
        "models": [_row(environment, card, used) for card in cards],
        "problems": [str(error) for error in bad],
    }


def _in_use(environment: Environment) -> set[str]:
    """The names of the models that are on, as far as their files are here."""
    person, catalogue = environment.person, environment.catalogue
    named = [read_memory_settings(environment.choice.root.settings).model]
    further = [name for name in (person.sparse_model, person.late_model, person.rerank_model) if name]
    found = set()
    for name in (*named, *further):
        try:
            found.add(catalogue.card(name).name if name else catalogue.find().card.name)
        except (UsageError, NeedsRepair):
            continue  # the commands that use it say so
    return found


def _row(environment: Environment, card: ModelCard, used: set[str]) -> dict[str, Any]:
    catalogue = environment.catalogue
    try:
        found, wrong = catalogue.here(card), ""
    except NeedsRepair as error:
        found, wrong = None, str(error)
    return {
        "name": card.name,
        "kind": card.kind,
        "megabytes": card.megabytes,
        "licence": card.licence,
        "languages": list(card.languages),
        "in_use": card.name in used,
        "here": found.reason if found else "",
        "get": wrong or ("" if found else make_download_command(card)),
        "sha256": {**catalogue.read_hashes(card), **card.sha256},
        "pinned": sorted(card.sha256),
        "note": card.note,
    }


def show_list(found: dict[str, Any], *, as_json: bool) -> None:
    """A line a model; what is wrong with descriptions on stderr."""
    if as_json:
        data_json(found)
    else:
        width = max(len(row["name"]) for row in found["models"])
        for row in found["models"]:
            languages = ", ".join(row["languages"])
            place = f"in use, {row['here']}" if row["in_use"] and row["here"] else row["here"] or row["get"]
            head = f"{row['name']:<{width}}  {row['kind']:<6}  {row['megabytes']:>5,} MB  {row['licence']:<10}"
            data(f"{head}  {languages:<5} {place}")
            if row["note"]:
                data(f"{'':<{width}}  {row['note']}")
        talk("Try one before you switch: oneiros model --try NAME")
    for problem in found["problems"]:
        talk(problem)


def add_model(environment: Environment, folder: Path, *, as_json: bool) -> None:
    """Takes a model in with the person's consent: looked over, run once, shown with its hashes, and copied."""
    addition = environment.catalogue.addition(folder)
    card = addition.files.card
    try_out(environment, addition.files)
    for line in _describe_addition(addition):
        talk(line)
    require_person(environment, f"add the model {card.name} of {folder}, sha256 {addition.files.weight_hash}")
    added = environment.catalogue.add(addition)
    _tell_taken(environment, added, as_json=as_json)


def fetch_model(environment: Environment, name: str, *, as_json: bool) -> None:
    """Fetches a model from the hub with the person's consent, and switches nothing."""
    catalogue = environment.catalogue
    card = catalogue.card(name)
    known = card.sha256.get(card.weights, "") or catalogue.read_hashes(card).get(card.weights, "")
    checked = f"sha256 {known}" if known else "whose sha256 is not known and will be recorded"
    what = f"fetch {card.name}, {card.repository} at {card.revision}, {card.megabytes:,} MB, {checked}"
    require_person(environment, what)
    _tell_taken(environment, catalogue.download(card), as_json=as_json)


def try_out(environment: Environment, files: ModelFiles) -> None:
    """Runs a model on two sentences. Raises NeedsRepair or UsageError where it is not what its description says."""
    card = files.card
    match card.kind:
        case ModelKind.DENSE:
            made = OnnxEngine(files).embed(SAMPLE)[0].vector
            if made.shape != (card.dimensions,):
                what = f"dimensions is {card.dimensions}, and the model gives {made.shape[0]}"
                raise UsageError(what, where=files.weights, remedy="Mend that key in its model.toml")
        case ModelKind.SPARSE:
            SparseEngine(files).embed(SAMPLE)
        case ModelKind.LATE:
            LateEngine(OnnxEngine(environment.catalogue.find()), files).embed(SAMPLE)
        case ModelKind.CROSS:
            CrossEngine(files).scores(*SAMPLE[:1], SAMPLE)


def _describe_addition(addition: Addition) -> Iterator[str]:
    card = addition.files.card
    yield f"{card.name}: {card.kind}, {card.licence}, {card.megabytes:,} MB, {', '.join(card.languages)}"
    yield from (f"  {value}  {name}" for name, value in addition.hashes.items())
    if addition.replaces:
        yield "It takes the place of the model of that name that you added before."


def _tell_taken(environment: Environment, files: ModelFiles, *, as_json: bool) -> None:
    card = files.card
    if as_json:
        data_json(_row(environment, card, _in_use(environment)))
        return
    data(f"{card.name}  {files.weights.parent}")
    setting = SETTING_OF.get(card.kind)
    use = f"oneiros config {setting} {card.name}" if setting else f"oneiros model {card.name}"
    talk(f"Try it: oneiros model --try {card.name}. Use it: {use}")


def show_tried(found: Tried) -> None:
    """The questions whose first hit differs, both hits below each other; then how many, and what the person judged."""
    for one in found.differing:
        data(f"{with_commands(one.tool):<6} {escape_line(one.query)}")
        data(f"  now   {_hit_line(one.now)}")
        data(f"  then  {_hit_line(one.then)}")
    talk(f"{found.model} beside {found.in_use}: {len(found.differing)} of {found.questions} questions begin otherwise.")
    for name, judged in (("now", found.judged_now), ("then", found.judged_then)):
        if judged.questions or judged.unanswerable:
            talk(f"{name:<5} {_judged_line(judged)}")
    if not found.judged_now.questions:
        talk("Say which answers are right, and this counts them: oneiros queries --judge")


def _hit_line(hit: FirstHit) -> str:
    if not hit.path:
        return "nothing"
    verdict = f"  [{hit.verdict}]" if hit.verdict else ""
    return shorten_text(f"{escape_line(hit.path)}:{hit.line}{verdict}  {escape_line(hit.passage)}", LINE_CHARS)


def _judged_line(judged: Judged) -> str:
    found = f"of {judged.questions} judged questions {judged.first} begin with a right answer, {judged.among} show one"
    return f"{found}; of {judged.unanswerable} without one, {judged.silent} are answered with nothing"
