"""Topics renamed, joined, cut or retired: what changes is shown, and done with the person's consent."""

from collections.abc import Sequence
from itertools import groupby

from crawler.model.client import Refused
from dream.blame import find_labels
from dream.changes import check_path
from dream.decisions.accept import Decisions
from dream.decisions.planning import Arrangement, Texts
from dream.judge.filing import make_slug, make_title
from dream.judge.reader import DreamReader
from dream.proposals.questions import bare_topics, list_statements, read_documents
from dream.topics import read_topics
from memory_server.document import Layer, SourcePath
from memory_server.errors import NeedsRepair, UsageError, nearest_or
from memory_server.escaping import escape_line
from memory_server.layers.topics import SourceFile, read_document, read_text, topic_name
from memory_server.machine.clock import local_day
from memory_server.reading import find_source
from oneiros.cli.arranging import arrange
from oneiros.cli.terminal.output import data, talk
from oneiros.dreaming import build_dream_reader, open_decisions
from oneiros.environment import Environment, now
from parts.arranging.arrangement import (
    find_title,
    plan_merge,
    plan_move,
    plan_regrouping,
    plan_retirement,
    split,
)
from parts.arranging.splitting import ask_cut
from parts.arranging.summing_up import ask_summaries
from parts.arranging.tidying import tidy_all, with_summaries


def move_statement(environment: Environment, name: str, line: int, topic: str) -> None:
    """Proposes that the statement on a line of a topic stand in another one; the review asks about it."""
    decisions = open_decisions(environment)
    path = find_source(decisions.root, name).path
    labels = find_labels(read_text(check_path(decisions.root, path)), line)
    if len(labels) != 1:
        remedy = "`oneiros dream blame TOPIC:LINE` tells whose words stand there"
        raise UsageError(f"{path}:{line} is no statement with one footnote", remedy=remedy)
    hunk = decisions.propose_move(path, labels[0], topic, "")
    data(f"{hunk.id}  {escape_line(hunk.text)}\n  {path} -> {hunk.target}")
    talk("Nothing moves before you accept it: oneiros review")


def move_topic(environment: Environment, old: str, new: str) -> None:
    """Gives a topic another name: its file, and its title and heading where they said the old one."""
    decisions = open_decisions(environment)

    def build_arrangement(texts: Texts) -> Arrangement:
        path = _find_path(decisions, texts, old)
        folder, _, last = new.removeprefix("topics/").removesuffix(".md").rpartition("/")
        is_path = bool(folder) or make_slug(last) == last
        target = _new_path(f"{folder}/{last}" if folder else last if is_path else make_slug(last))
        if not folder:  # it stays beside its neighbours
            target = f"{path.rpartition('/')[0]}/{target.rpartition('/')[2]}"
        was = find_title(texts[path], path)
        says_name = make_slug(was) == make_slug(path.rpartition("/")[2].removesuffix(".md"))
        return plan_move(texts, path, target, make_title(last) if says_name or not is_path else "")

    arrange(environment, decisions, build_arrangement)


def tidy_topics(environment: Environment, names: Sequence[str]) -> None:
    """Brings topics into today's form; all of them where none is named."""
    decisions = open_decisions(environment)
    has_folders = read_topics(decisions.root).has_folders

    def build_arrangement(texts: Texts) -> Arrangement:
        every = [path for path in texts if path.startswith("topics/")]
        return tidy_all(texts, [_find_path(decisions, texts, name) for name in names] or every, has_folders=has_folders)

    arrange(environment, decisions, build_arrangement, with_diff=True)


def merge_topics(environment: Environment, names: Sequence[str], into: str) -> None:
    """Makes one topic of several."""
    decisions, today = open_decisions(environment), local_day(now())

    def build_arrangement(texts: Texts) -> Arrangement:
        return plan_merge(texts, [_find_path(decisions, texts, name) for name in names], _new_path(into), today)

    arrange(environment, decisions, build_arrangement)


def split_topic(environment: Environment, name: str, heading: str, into: str) -> None:
    """Makes sections of a topic topics of their own."""
    if into and not heading:
        raise UsageError("--into names one section's topic", remedy="Say which: --heading X")
    decisions, path, today = open_decisions(environment), _new_path(into) if into else "", local_day(now())
    arrange(
        environment, decisions, lambda texts: split(texts, _find_path(decisions, texts, name), today, heading, path)
    )


def split_by_reader(environment: Environment, name: str) -> None:
    """Cuts a topic as the model of the settings would, which is asked once; the lines are shown before."""
    decisions, today = open_decisions(environment), local_day(now())
    reader = _require_reader(environment, decisions, "cut it by --heading")
    path = ""

    def find(texts: Texts) -> Arrangement:
        nonlocal path
        path = _find_path(decisions, texts, name)
        return Arrangement("", {path: texts[path]}, {})

    decisions.arrangement(find)  # which refuses a file that nobody has answered for
    document = read_document(decisions.root, SourceFile(SourcePath(path), Layer.TOPIC))
    if not reader.may_see(document.project, ()):
        raise UsageError(f"no model may read {escape_line(document.project) or 'it'}", remedy="Cut it by --heading")
    try:
        cut = ask_cut(reader, document.title, list_statements(document))
    except Refused as error:
        raise NeedsRepair(str(error), remedy="Try again later, or cut it by --heading") from error
    arrange(
        environment,
        decisions,
        lambda texts: plan_regrouping(texts, path, today, cut.names, cut.summaries),
        with_diff=True,
    )


def sum_up_topics(environment: Environment, names: Sequence[str]) -> None:
    """Has the model of the settings say what topics without a summary cover; the lines are shown before."""
    decisions = open_decisions(environment)
    reader = _require_reader(environment, decisions, "write `summary:` by hand")
    doubted = {one.path for one in decisions.find_unexplained()}
    texts = {str(one.path): one.body for one in read_documents(decisions.root)}
    wanted = [_find_path(decisions, texts, name) for name in names] or list(texts)
    bare = [one for one in bare_topics(decisions.root) if one.path in wanted and one.path not in doubted]
    summaries = dict[str, str]()
    for project, group in groupby(sorted(bare, key=lambda one: one.project), key=lambda one: one.project):
        topics = list(group) if reader.may_see(project, ()) else []
        try:
            written = ask_summaries(reader, project, [(one.title, list_statements(one)) for one in topics])
        except Refused as error:
            raise NeedsRepair(str(error), remedy="Try again later") from error
        summaries |= {one.path: summary for one, summary in zip(topics, written, strict=True)}
    arrange(environment, decisions, lambda texts: with_summaries(texts, summaries), with_diff=True)


def _require_reader(environment: Environment, decisions: Decisions, otherwise: str) -> DreamReader:
    """The model of the settings. Raises UsageError where none is set, with what to do otherwise."""
    if reader := build_dream_reader(environment, decisions.root):
        return reader
    raise UsageError("no model is set", remedy=f"oneiros config reader claude-cli, or {otherwise}")


def retire_topic(environment: Environment, name: str) -> None:
    """Takes a topic out: git keeps it, and the way back is noted."""
    decisions = open_decisions(environment)
    path = _new_path(name)
    if waiting := [hunk.id for hunk in decisions.store.hunks() if hunk.is_open and path in hunk.paths]:
        raise UsageError(f"{len(waiting)} proposed changes wait for {path}", remedy="Decide about them: oneiros review")
    arrange(environment, decisions, lambda texts: plan_retirement(_find_path(decisions, texts, name)))


def _new_path(name: str) -> str:
    return f"topics/{name.removeprefix('topics/').removesuffix('.md')}.md"


def _find_path(decisions: Decisions, texts: Texts, name: str) -> str:
    """The path of a topic by its name. Raises UsageError where there is no such one, ContentError for a link."""
    path = _new_path(name)
    check_path(decisions.root, path)
    same = [one for one in texts if one.startswith("topics/") and one.endswith(path.removeprefix("topics"))]
    if path not in texts and len(same) == 1:
        return same[0]
    if path not in texts:
        known = [escape_line(topic_name(SourcePath(one))) for one in texts if one.startswith("topics/")]
        remedy = nearest_or(f"Name one of these: {', '.join(known)}" if known else "There are none yet", name, known)
        raise UsageError(f"there is no topic named {name!r}", remedy=remedy)
    return path
