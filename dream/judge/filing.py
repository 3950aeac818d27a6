"""Where a statement goes: into a topic of its project, the one that its reader, its file or a person names.

Where nobody says, into the project's own topic, in a section of its kind. No name is made of a statement's words. What
belongs to no project is the person's own and lies in `topics/` itself.
"""

import re
from dataclasses import replace

from dream.records import Candidate, Kind, Place
from dream.topics import LESSONS, Topics, TopicText, find_last_line_above_sections
from memory_server.document import SourcePath
from memory_server.language.words import WORD, content_words

OWN = "Personal"  # the topic of what belongs to no project, where nobody names another
REST = "Rules and facts"  # the title of a project's own topic: its name alone told readers nothing
MAX_NAME = 60
MOST_PLAIN = 8  # statements of a topic without sections
SECTIONS = {
    Kind.RULE: "Rules",
    Kind.PREFERENCE: "Rules",
    Kind.HABIT: "Rules",
    Kind.DECISION: "Decisions",
    Kind.CORRECTION: "Facts",
    Kind.FACT: "Facts",
    Kind.FINDING: "Findings",
}
ABOVE = re.compile(r"^(?:topics/)?(.*?)(?:\.md)?$", re.DOTALL)
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+")  # of a name: anything else with a stroke is words
MOST_FOLDERS = 3  # below topics/
NAME_CHARS = re.compile(r"[^\W_](?:[\w .,&+'’()/-]*[\w)+])?")  # nothing in a name is Markdown, or hides


def choose_place(candidate: Candidate, topics: Topics) -> Place:
    """The topic that a statement belongs to, and the section at whose end it goes."""
    if candidate.kind is Kind.LESSON:
        lessons = topics.file(LESSONS)
        title = "" if lessons else "Lessons"
        line = find_last_line_above_sections(lessons) if lessons else 0
        return Place(LESSONS, line, title=title, section=clean_name(candidate.project))
    project = candidate.project.strip()
    name = candidate.topic.strip() or project or OWN
    section = candidate.section.strip() if candidate.topic.strip() else SECTIONS[candidate.kind]
    if found := find_topic(name, project, topics):
        return Place(found.path, find_last_line_above_sections(found), section=clean_name(section))
    target = make_path(name, project if topics.has_folders else "")
    title = REST if project and not candidate.topic.strip() else make_title(name)
    return Place(target, 0, title=title, summary=candidate.summary, section=clean_name(section))


def drop_small_section(candidate: Candidate, topics: Topics) -> Candidate:
    """The candidate without its section, unless its topic has grown past what is read at a glance."""
    found = find_topic(candidate.topic, candidate.project, topics)
    is_grown = found is not None and len(found.statements) > MOST_PLAIN
    return candidate if is_grown else replace(candidate, section="")


def find_topic(name: str, project: str, topics: Topics) -> TopicText | None:
    """The topic of a project that a name means: its path, its file's name or its title."""
    wanted, slug = ABOVE.sub(r"\1", name.strip()).casefold(), make_slug(name)
    ours = topics.list_own(project)
    named = [one for one in ours if one.path == f"topics/{wanted}.md"]
    named += [one for one in ours if one.title.casefold() == wanted]
    named += [one for one in ours if slug and one.path.endswith(f"/{slug}.md")]
    return named[0] if named else None


def find_own_topic(name: str, project: str, topics: Topics) -> str:
    """The path of the person's own topic that is named by its path beside a project; empty where none is."""
    if not project.strip() or not name.strip().startswith("topics/") or find_topic(name, project, topics):
        return ""
    found = find_topic(name, "", topics)
    return found.path if found else ""


def list_names(project: str, topics: Topics) -> dict[str, list[str]]:
    """The topics that a person may name for a statement of a project, with their sections: those of the project by the
    last part of their path where that is theirs alone, the person's own, beside a project, by their path.
    """
    ours = topics.list_own(project)
    lasts = [ABOVE.sub(r"\1", one.path).rpartition("/")[2] for one in ours]
    names = {one.path: last for one, last in zip(ours, lasts, strict=True) if lasts.count(last) == 1}
    own = topics.list_own("") if project else []
    return {
        names.get(one.path, one.path): list(
            dict.fromkeys(statement.headings[1] for statement in one.statements if statement.headings[1:])
        )
        for one in (*ours, *own)
    }


def find_nearest_topic(text: str, project: str, topics: Topics) -> TopicText | None:
    """The topic of a project that shares most words with a text; None where none shares any."""
    words = frozenset(content_words(text))
    best = max(topics.list_own(project), key=lambda one: len(words & one.words), default=None)
    return best if best and words & best.words else None


def make_path(name: str, project: str = "") -> SourcePath:
    """The path of a topic of this name, in the folder of its project: nothing of either can lead out of `topics/`.

    A name that is a path keeps its folders where they are the project's, or where there is no project.
    """
    bare, own = ABOVE.sub(r"\1", name.strip()), make_slug(project)
    if bare.casefold() == "lessons" and not own:  # a project's statement would hold everywhere there
        return LESSONS
    folders = list(filter(None, map(make_slug, bare.split("/")[:-1]))) if PATH.fullmatch(bare) else []
    if own and folders[:1] != [own]:
        folders, bare = [own], bare.replace("/", " ")
    elif not folders:
        bare = bare.replace("/", " ")
    last = make_slug(bare.rpartition("/")[2]) or "notes"
    return SourcePath("/".join(["topics", *folders[:MOST_FOLDERS], f"{last}.md"]))


def make_title(name: str) -> str:
    """A name as a title: its last part, with a capital letter."""
    bare = ABOVE.sub(r"\1", name.strip())
    bare = bare.rpartition("/")[2] if PATH.fullmatch(bare) else bare
    words = re.sub(r"[-_]+", " ", bare) if re.fullmatch(r"[a-z0-9_-]+", bare) else bare
    plain = clean_name(words)
    return plain[:1].upper() + plain[1:] or "Notes"


def clean_name(text: str) -> str:
    """A name on one line, in which nothing is Markdown and nothing hides; cut to so many characters."""
    return " ".join(" ".join(NAME_CHARS.findall(text)).split())[:MAX_NAME].strip()


def make_slug(text: str) -> str:
    """Letters and digits of any script, joined by hyphens."""
    words = (word.casefold().replace("'", "").replace("’", "") for word in WORD.findall(text))
    return "-".join(words)[:MAX_NAME].strip("-")
