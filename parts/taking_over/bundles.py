"""Topics out as a bundle of MIF 1.0, and in from one of 1.0 or 0.1.

Out goes what is approved, secrets masked once more; each file beside its JSON-LD, under the path that it has here, so
that links stay true. In comes each file as a topic of its own, whole, with its id: a person is shown all of it before.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dream.decisions.accept import Decisions
from dream.decisions.planning import Arrangement, Texts
from dream.judge.gate import is_deceptive
from dream.topics import TopicText, read_topics
from memory_server.document import SourcePath
from memory_server.errors import ContentError, Problem, UsageError
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import markdown_files, read_text
from memory_server.machine.clock import local_day
from memory_server.machine.files import make_folder, replace_file
from memory_server.redaction import Redactor
from parts.taking_over.exchange import as_id, as_json_ld, as_markdown, as_own

CONFIG = 'mif_version: "1.0.0"\nconformance_level: 3\n'
OTHER_THAN_PLAIN = re.compile(r"[^\w .-]+")
MAX_NAME_CHARS = 80  # of a folder or a topic
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Sent:
    """What a bundle holds."""

    files: int
    left_out: tuple[str, ...]  # in a state that nobody answered for


@dataclass(frozen=True, slots=True)
class MifBundle:
    """The topics of a bundle, by the path that each is to have here, and what cannot be taken."""

    topics: Mapping[str, str]
    problems: tuple[Problem, ...]


def find_approved(decisions: Decisions, project: str = "") -> tuple[list[TopicText], tuple[str, ...]]:
    """The files of layer 1, of a project alone where one is named, that somebody has answered for; and the others."""
    doubtful = {one.path for one in decisions.find_unexplained()}
    files = read_topics(decisions.root).files
    wanted = [one for one in files if one.path not in doubtful and (not project or one.project == project.casefold())]
    return wanted, tuple(sorted(doubtful))


def write_bundle(decisions: Decisions, folder: Path, redactor: Redactor, project: str = "") -> Sent:
    """Writes the approved files of layer 1, with a project its topics alone.

    Raises UsageError unless the folder is new or empty, outside the memory.
    """
    if folder.resolve().is_relative_to(decisions.root.path.resolve()):
        raise UsageError(f"{folder} lies in the memory", remedy="Name a folder outside of it")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", remedy="Name a new one")
    topics, doubtful = find_approved(decisions, project)
    day = local_day(decisions.now()).isoformat()
    make_folder(folder / ".mif")
    replace_file(folder / ".mif" / "config.yaml", CONFIG)
    for topic in topics:
        markdown = redactor.redact(as_markdown(topic.text, SourcePath(topic.path), day)).text
        file = folder / topic.path
        make_folder(file.parent)
        replace_file(file, markdown)
        projection = json.dumps(as_json_ld(markdown), ensure_ascii=False, indent=2)
        replace_file(file.with_suffix(".jsonld"), f"{projection}\n")
    return Sent(len(topics), doubtful)


def read_bundle(folder: Path, redactor: Redactor) -> MifBundle:
    """Reads every Markdown file of a folder; links and hidden folders are passed over."""
    topics: dict[str, str] = {}
    problems: list[Problem] = []
    for file in markdown_files(folder):
        name = file.relative_to(folder).as_posix()
        try:
            text = as_own(read_text(file))
            if is_deceptive(text):
                raise ContentError("it holds characters that a reader cannot see or tell apart", remedy="Retype them")
            path = make_target_path(name)
            if path in topics:
                raise ContentError(f"another file is to be {path} too", remedy="Rename one of them")
            topics[path] = redactor.redact(text).text
        except ContentError as error:
            problems.append(Problem(name, error.line or 1, error.what, error.remedy))
    return MifBundle(topics, tuple(problems))


def build_arrangement(bundle: MifBundle, texts: Texts) -> Arrangement:
    """The topics of a bundle that are not here yet.

    Raises UsageError where one has the path or the id of another that is here.
    """
    ids = {as_id(parse_frontmatter(text), path): path for path, text in texts.items()}
    new = {}
    for path, text in bundle.topics.items():
        theirs = parse_frontmatter(text)
        at = path if path in texts else ids.get(theirs.text("id"), "")
        if not at:
            new[path] = text
        elif parse_frontmatter(texts[at]).body.strip() != theirs.body.strip():
            remedy = f"Leave it out, or retire {at} first: oneiros topics retire"
            raise UsageError(f"{path} of the bundle is {at} with another text", remedy=remedy)
    if not new:
        raise UsageError("the bundle holds nothing that is not here", remedy="Name a folder of MIF with other topics")
    return Arrangement(f"Take in {len(new)} topics of a MIF bundle", new, {})


def make_target_path(name: str) -> str:
    """The path that a file of a bundle is to have here: its own, without what no path here may have."""
    if name == "lessons.md":
        return name
    plain = name.removesuffix(".md").removesuffix(".memory").removeprefix("topics/")
    parts = [OTHER_THAN_PLAIN.sub("-", part).strip("-_. ")[:MAX_NAME_CHARS] for part in plain.split("/")]
    return f"topics/{'/'.join([part for part in parts if part][-MAX_DEPTH:])}.md"
