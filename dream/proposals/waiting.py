"""What waits for a person, filed: a reader is shown all of a project at once, whether sessions said it or files.

What a spent budget or a silent model leaves over stays where its own reader put it, and is asked about by the next run.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from crawler.model.client import Refused
from dream.judge.compare import AGAINST
from dream.judge.naming import name_topics
from dream.judge.reader import NO_ANSWER, DreamReader, ReaderRun
from dream.records import Candidate, Hunk, Kind, State, Written
from dream.topics import LESSONS, Topics
from memory_server.layers.mif import parse_frontmatter


def ask_where(
    reader: DreamReader, hunks: Sequence[Hunk], topics: Topics, prove: Callable[[Candidate, str], Candidate]
) -> tuple[dict[str, Candidate], ReaderRun]:
    """The statements of open hunks as a reader files them, by the ids of these, project by project.

    `prove`: a candidate in other words, or as it is where they do not hold.
    """
    projects = defaultdict[str, list[Hunk]](list)
    for hunk in hunks:
        if waits_for_reader(hunk) and reader.may_see(hunk.update.candidate.project, list(list_files(hunk))):
            projects[hunk.update.candidate.project].append(hunk)
    placed, run = dict[str, Candidate](), ReaderRun(left=sum(map(len, projects.values())))
    for project, ours in projects.items():
        rest, known = iter(ours), list_known_topics(project, topics, hunks)
        try:
            for group in name_topics(reader, project, [hunk.update.candidate for hunk in ours], known, prove):
                placed |= {hunk.id: filed for filed, hunk in zip(group, rest, strict=False) if filed.is_filed}
        except Refused as error:
            run.stopped = str(error)
            break
    run.statements = len(placed)
    run.left -= len(placed)
    run.stopped = run.stopped or (NO_ANSWER if run.left else "")
    return placed, run


def waits_for_reader(hunk: Hunk) -> bool:
    """Whether nobody who saw what else waits has said where a hunk goes; what replaces a line has its place."""
    candidate = hunk.update.candidate
    is_placed = candidate.is_filed or hunk.update.relation in AGAINST or candidate.kind is Kind.LESSON
    return hunk.state in (State.QUEUED, State.PENDING) and not is_placed


def list_files(hunk: Hunk) -> Iterable[str]:
    """The files that a hunk rests on."""
    return (words.file for words in hunk.update.candidate.given if isinstance(words, Written))


def list_known_topics(project: str, topics: Topics, hunks: Sequence[Hunk]) -> dict[str, str]:
    """The topics of a project by title, with their summaries: those that there are, and those that hunks which were
    filed before will found.
    """
    ours = [one for one in topics.files if one.project == project.casefold() and one.path != LESSONS]
    filed = [hunk for hunk in hunks if hunk.is_open and hunk.update.candidate.is_filed]
    places = [hunk.update.place for hunk in filed if hunk.update.candidate.project == project]
    begun = {place.title: place.summary for place in places if place.title}
    return begun | {one.title: parse_frontmatter(one.text).text("summary") for one in ours}
