"""Gives new statements their topics: one for each subject, named after it, where no topic speaks of it yet.

A statement that `compare` found a topic for stays there. Of those that would found one, what waits to be decided counts
already: it keeps its topic, and what comes later joins it. A name that another project took gets the project ahead.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dream.judge.compare import last_line
from dream.records import Candidate, Hunk, Kind, Place, Relation, Update, Written
from dream.subjects.grouping import Item, grouped
from dream.subjects.naming import name_of_group
from dream.topics import Topics
from memory_server.document import SourcePath
from memory_server.language.words import WORD
from memory_server.layers.mif import parse_frontmatter

MAX_NAME = 60
BETWEEN_HEADINGS = " > "  # in the context of a statement of a file


def by_subject(updates: Sequence[Update], topics: Topics, hunks: Iterable[Hunk]) -> list[Update]:
    """The updates with a subject's topic as the target of those that found one; `hunks` are those known before."""
    waiting = [hunk for hunk in hunks if hunk.is_open and _founds(hunk.update)]
    owners: dict[str, str] = dict(_owners(topics))
    owners |= {hunk.target: _project(hunk.update) for hunk in waiting}
    titles: dict[str, str] = {hunk.target: hunk.update.place.title for hunk in waiting}
    placed = list(updates)
    projects: dict[str, list[int]] = defaultdict(list)
    for place, update in enumerate(updates):
        if _founds(update) and not update.candidate.topic:
            projects[_project(update)].append(place)
    for project, places in sorted(projects.items()):
        held = [hunk for hunk in waiting if _project(hunk.update) == project]
        items = [_item(hunk.update.candidate, hunk.target) for hunk in held]
        items += [_item(updates[place].candidate) for place in places]
        for group, target, title in _named(items, project, owners):
            found = next((one for one in topics.files if one.path.casefold() == target), None)
            for place in (places[at - len(held)] for at in group if at >= len(held)):
                begun = Place(target, 0, title=titles.get(target, title))
                where = Place(found.path, last_line(found)) if found else begun
                placed[place] = replace(updates[place], place=where)
    return placed


def _named(items: Sequence[Item], project: str, owners: dict[str, str]) -> Iterator[tuple[list[int], SourcePath, str]]:
    """The groups of a project's statements, the largest first, each with its topic's path and title."""
    taken: set[str] = set()
    for group in sorted(grouped(items), key=lambda group: (-len(group), group)):
        if known := next((items[place].topic for place in group if items[place].topic), ""):
            yield group, SourcePath(known), known
            continue
        title = name_of_group([items[place] for place in group], items, taken)
        taken.add(title.casefold())
        target = _path(title)
        if owners.get(target, project) != project:
            target = _path(title, project)
        owners[target] = project
        yield group, target, title


def _founds(update: Update) -> bool:
    """Whether an update would begin a topic."""
    is_statement = update.candidate.kind is not Kind.LESSON
    return update.relation is Relation.NEW and bool(update.place.title) and is_statement


def _project(update: Update) -> str:
    return update.candidate.project.strip()


def _item(candidate: Candidate, topic: str = "") -> Item:
    words = candidate.evidence[0] if candidate.evidence else None
    if isinstance(words, Written):
        headings = tuple(filter(None, candidate.context.split(BETWEEN_HEADINGS)))
        return Item(candidate.text, headings, words.file, topic)
    return Item(candidate.text, (), candidate.quotes[0].session_id if candidate.quotes else "", topic)


def _owners(topics: Topics) -> Iterator[tuple[str, str]]:
    """Which project each topic belongs to, where it names one."""
    for topic in topics.files:
        if project := parse_frontmatter(topic.text).text("project"):
            yield topic.path, project


def _path(title: str, project: str = "") -> SourcePath:
    """A topic's path from its title: letters and digits of any script, nothing that leads elsewhere."""
    name = _slug(title) or "notes"
    folder = _slug(project) if any(letter.isalpha() for letter in project) else ""
    return SourcePath(f"topics/{folder}/{name}.md" if folder else f"topics/{name}.md")


def _slug(text: str) -> str:
    return "-".join(word.casefold().replace("'", "").replace("’", "") for word in WORD.findall(text))[:MAX_NAME].strip(
        "-"
    )
