"""Episodes: notes taken in by REST or command. Layer 2: they may be found, they never decide.

What an assistant observed by itself says so in its title, its tags and its frontmatter.

One Markdown file an episode below `episodes/YYYY/`, masked before it is written, never changed afterwards. The exchange
that it was made from may lie beside it, masked too: it can be read, and no index holds it.
"""

import datetime as dt
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from memory_server.document import SourcePath
from memory_server.errors import ContentError, UsageError
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import make_slug
from memory_server.layers.topics import EXCHANGE, markdown_files, read_text
from memory_server.machine.clock import local
from memory_server.machine.files import find_refusal, is_plain_file, remove_file, replace_file
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot

MAX_TEXT_CHARS = 200_000
MAX_TITLE_CHARS = 120
MAX_TAGS = 20
TAG = "episode"  # every episode has it, so that `tag:episode` narrows a search to them
OBSERVED = "observation"  # a further tag, of what an assistant noted by itself
MAX_OBSERVED = 10  # of one session: whoever notes more keeps a log, and buries what was worth a note
FILE_ID = re.compile(r"-([0-9a-f]{8})\.md$")
GIVEN = uuid.UUID("0d5c0b3e-6f0f-5a55-9a3c-6f1f2f6b8d11")  # namespace of the ids made of those that senders gave
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ud800-\udfff]+")


class EpisodeTaken(ContentError):
    """Another note has the id that its sender gave to this one."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One note."""

    id: str  # 8 hexadecimal digits
    path: SourcePath
    title: str
    created: str  # ISO 8601
    tags: tuple[str, ...]
    project: str
    instance: str  # which agent or machine noted it, as `machine:` filters by it
    episode_id: str  # as its sender gave it; empty where none was given
    text: str  # masked; empty in a list
    raw_exchange: str = ""  # masked; empty unless it was asked for


@dataclass(frozen=True, slots=True)
class GivenEpisode:
    """A note as somebody gives it, its secrets still in it."""

    text: str
    title: str = ""  # empty: its first line
    tags: Sequence[str] = ()
    project: str = ""
    instance: str = ""
    episode_id: str = ""  # by which its sender knows it again
    raw_exchange: str = ""  # what it was made from
    observed_in: str = ""  # the session in which an assistant noted it by itself; empty for everybody else


def write_episode(root: MemoryRoot, given: GivenEpisode, *, now: dt.datetime, redactor: Redactor) -> Episode:
    """Masks a note and writes it; one that is there with the same `episode_id` and words is given back as it is.

    Raises UsageError for an unusable one and where a session has observed enough, EpisodeTaken where another note has
    its `episode_id`, NeedsRepair where the disk refuses. One process at a time may write notes with ids of senders.
    """

    def clean(value: str) -> str:
        return redactor.redact(CONTROL.sub(" ", value.replace("\r\n", "\n").replace("\r", "\n"))).text.strip()

    body = clean(given.text)
    if not body:
        raise UsageError("the episode has no text", remedy="Send the note as `text`")
    for name, text in (("episode", given.text), ("raw exchange", given.raw_exchange)):
        if len(text) > MAX_TEXT_CHARS:
            raise UsageError(f"the {name} has {len(text)} characters", remedy=f"Keep it to {MAX_TEXT_CHARS}")
    exchange, sender_id = clean(given.raw_exchange), " ".join(clean(given.episode_id).split())
    if sender_id and (there := _there(root, sender_id)):
        if (there.text, there.raw_exchange) == (body, exchange):
            return there
        what = f"another episode has the id {sender_id[:40]!r}"
        raise EpisodeTaken(what, where=there.path, remedy="Give this one another id, or delete that one first")
    heading = (
        " ".join((clean(given.title) or body.split("\n", 1)[0].lstrip("# ")).split())[:MAX_TITLE_CHARS] or "Episode"
    )
    observed_in = " ".join(clean(given.observed_in).split())
    if observed_in:
        _require_room(root, observed_in)
        heading = f"The assistant observed: {heading}"[:MAX_TITLE_CHARS]
    named = ("-".join(clean(tag).casefold().split()) for tag in given.tags[:MAX_TAGS])
    tags = dict.fromkeys([TAG, *([OBSERVED] if observed_in else []), *filter(None, named)])
    identity = str(_make_id(sender_id) if sender_id else uuid.uuid4())
    origin = {"project": " ".join(clean(given.project).split()), "machine": " ".join(clean(given.instance).split())}
    known = {"episode_id": sender_id, "observed_in": observed_in}
    own = {"kind": "episode", **{key: value for key, value in known.items() if value}}
    front = {
        "id": identity,
        "type": "episodic",
        "title": heading,
        "created": local(now).isoformat(timespec="seconds"),
        "tags": list(tags),
        **{key: value for key, value in origin.items() if value},
        **({"provenance": {"sourceType": "agent_inferred"}} if observed_in else {}),
        "extensions": {"oneiros": own},
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)
    name = f"{local(now):%Y-%m-%d}-{make_slug(heading)}-{identity[:8]}.md"
    file = root.episodes / f"{now:%Y}" / name
    if exchange:
        _write(exchange_file(file), exchange)  # first: a note is whole once it is there
    _write(file, f"---\n{head}---\n\n# {heading}\n\n{body}\n")
    return read_episode(root, identity[:8])


def _require_room(root: MemoryRoot, session_id: str) -> None:
    """Raises UsageError where a session has noted as much as one may."""
    mark = yaml.safe_dump({"observed_in": session_id}, allow_unicode=True, width=1000)  # as it is written below
    heads = (read_text(file).partition("\n---\n")[0] + "\n" for file in markdown_files(root.episodes))
    if sum(f" {mark}" in head for head in heads) >= MAX_OBSERVED:
        what = f"this session has noted {MAX_OBSERVED} observations"
        raise UsageError(what, remedy="That is the most; tell the person what else you saw")


def list_episodes(root: MemoryRoot, *, page: int = 1, per_page: int = 20) -> tuple[list[Episode], int]:
    """A page of episodes, newest first, counted from 1; and how many there are."""
    files = sorted(
        (file for file in markdown_files(root.episodes) if FILE_ID.search(file.name)),
        key=lambda file: (file.name[:10], file.stat().st_mtime_ns, file.name),
        reverse=True,
    )
    part = files[(page - 1) * per_page : page * per_page]
    return [_read(root, file, with_text=False) for file in part], len(files)


def read_episode(root: MemoryRoot, identity: str, *, with_exchange: bool = False) -> Episode:
    """One episode by its id, or the one that its sender gave. Raises ContentError where there is none."""
    file = _find_file(root, identity)
    episode, exchange = _read(root, file, with_text=True), exchange_file(file)
    if not with_exchange or not is_plain_file(exchange):
        return episode
    return replace(episode, raw_exchange=read_text(exchange))


def exchange_file(file: Path) -> Path:
    """Where what a note was made from lies: beside it."""
    return file.with_suffix(EXCHANGE)


def delete_episode(root: MemoryRoot, identity: str) -> SourcePath:
    """Removes an episode's file and returns the path it had. Raises ContentError where there is none."""
    file = _find_file(root, identity)
    remove_file(exchange_file(file))
    remove_file(file)
    return root.relative(file)


def _find_file(root: MemoryRoot, identity: str) -> Path:
    own, given = identity if re.fullmatch(r"[0-9a-f]{8}", identity) else "", _make_id(identity).hex[:8]
    files = {found[1]: file for file in markdown_files(root.episodes) if (found := FILE_ID.search(file.name))}
    if file := files.get(own, files.get(given)):
        return file
    what = f"there is no episode {identity[:40]!r}"
    raise ContentError(what, remedy="`oneiros episodes` lists them, or GET /api/episodes")


def _make_id(episode_id: str) -> uuid.UUID:
    """The id of a note that its sender gave one."""
    return uuid.uuid5(GIVEN, " ".join(CONTROL.sub(" ", episode_id).split()))


def _there(root: MemoryRoot, episode_id: str) -> Episode | None:
    """The note to which a sender gave this id."""
    try:
        return read_episode(root, _make_id(episode_id).hex[:8], with_exchange=True)
    except ContentError:
        return None


def _read(root: MemoryRoot, file: Path, *, with_text: bool) -> Episode:
    text = read_text(file)
    front = parse_frontmatter(text)
    extensions, tags = front.fields.get("extensions"), front.fields.get("tags")
    own = extensions.get("oneiros") if isinstance(extensions, Mapping) else None
    own = own if isinstance(own, Mapping) else {}
    found = FILE_ID.search(file.name)
    return Episode(
        id=found[1] if found else "",
        path=root.relative(file),
        title=front.text("title"),
        created=front.text("created"),
        tags=tuple(map(str, tags)) if isinstance(tags, Sequence) and not isinstance(tags, str) else (),
        project=front.text("project") or str(own.get("project", "")),  # where older versions wrote it
        instance=front.text("machine"),
        episode_id=str(own.get("episode_id", "")),
        text=_body(text) if with_text else "",
    )


def _body(text: str) -> str:
    """What was taken in: the text below the frontmatter and the title."""
    rest = text.split("\n---\n", 1)[-1].strip("\n")
    return rest.split("\n", 1)[1].strip("\n") if rest.startswith("# ") and "\n" in rest else rest


def _write(file: Path, text: str) -> None:
    try:
        replace_file(file, text)
    except OSError as error:
        if refusal := find_refusal(error, file.parent, "the episode"):
            raise refusal from error
        raise
