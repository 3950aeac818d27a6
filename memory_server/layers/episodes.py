"""Episodes: notes taken in by REST or command. Layer 2: they may be found, they never decide.

One Markdown file an episode below `episodes/YYYY/`, masked before it is written, never changed afterwards.
"""

import datetime as dt
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from memory_server.document import SourcePath
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import slug_of
from memory_server.layers.topics import markdown_files, read_text
from memory_server.machine.files import is_plain_file, remove_file, replace_file
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot

MAX_TEXT_CHARS = 200_000
MAX_TITLE_CHARS = 120
MAX_TAGS = 20
TAG = "episode"  # every episode has it, so that `tag:episode` narrows a search to them
FILE_ID = re.compile(r"-([0-9a-f]{8})\.md$")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Episode:
    """One note."""

    id: str  # 8 hexadecimal digits
    path: SourcePath
    title: str
    created: str  # ISO 8601
    tags: tuple[str, ...]
    project: str
    text: str  # masked; empty in a list


def write_episode(
    root: MemoryRoot,
    text: str,
    *,
    now: dt.datetime,
    redactor: Redactor,
    title: str = "",
    tags: Sequence[str] = (),
    project: str = "",
) -> Episode:
    """Masks a note and writes it. Raises UsageError for an unusable one, NeedsRepair where the disk refuses."""

    def clean(value: str) -> str:
        return redactor.redact(CONTROL.sub(" ", value.replace("\r\n", "\n").replace("\r", "\n"))).text.strip()

    body = clean(text)
    if not body:
        raise UsageError("the episode has no text", remedy="Send the note as `text`")
    if len(text) > MAX_TEXT_CHARS:
        raise UsageError(f"the episode has {len(text)} characters", remedy=f"Keep it to {MAX_TEXT_CHARS}, or split it")
    heading = " ".join((clean(title) or body.split("\n", 1)[0].lstrip("# ")).split())[:MAX_TITLE_CHARS] or "Episode"
    kept = dict.fromkeys([TAG, *(name for tag in tags[:MAX_TAGS] if (name := "-".join(clean(tag).casefold().split())))])
    identity = str(uuid.uuid4())
    front = {
        "id": identity,
        "type": "episodic",
        "title": heading,
        "created": now.isoformat(timespec="seconds"),
        "tags": list(kept),
        "extensions": {"oneiros": {"kind": "episode", "project": " ".join(clean(project).split())}},
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)
    name = f"{now:%Y-%m-%d}-{slug_of(heading)}-{identity[:8]}.md"
    file = root.episodes / f"{now:%Y}" / name
    _write(file, f"---\n{head}---\n\n# {heading}\n\n{body}\n")
    return read_episode(root, identity[:8])


def list_episodes(root: MemoryRoot, *, page: int = 1, per_page: int = 20) -> tuple[list[Episode], int]:
    """A page of episodes, newest first, counted from 1; and how many there are."""
    files = sorted(
        (file for file in markdown_files(root.episodes) if FILE_ID.search(file.name)),
        key=lambda file: (file.name[:10], file.stat().st_mtime_ns, file.name),
        reverse=True,
    )
    part = files[(page - 1) * per_page : page * per_page]
    return [_read(root, file, with_text=False) for file in part], len(files)


def read_episode(root: MemoryRoot, identity: str) -> Episode:
    """One episode by its id. Raises ContentError where there is none."""
    return _read(root, _file_of(root, identity), with_text=True)


def delete_episode(root: MemoryRoot, identity: str) -> SourcePath:
    """Removes an episode's file and returns the path it had. Raises ContentError where there is none."""
    file = _file_of(root, identity)
    remove_file(file)
    return root.relative(file)


def _file_of(root: MemoryRoot, identity: str) -> Path:
    if re.fullmatch(r"[0-9a-f]{8}", identity):
        for file in markdown_files(root.episodes):
            if file.name.endswith(f"-{identity}.md") and is_plain_file(file):
                return file
    raise ContentError(f"there is no episode {identity[:40]!r}", remedy="GET /api/episodes lists them")


def _read(root: MemoryRoot, file: Path, *, with_text: bool) -> Episode:
    text = read_text(file)
    front = parse_frontmatter(text)
    extensions, tags = front.fields.get("extensions"), front.fields.get("tags")
    own = extensions.get("oneiros") if isinstance(extensions, Mapping) else None
    found = FILE_ID.search(file.name)
    return Episode(
        id=found[1] if found else "",
        path=root.relative(file),
        title=front.text("title"),
        created=front.text("created"),
        tags=tuple(map(str, tags)) if isinstance(tags, Sequence) and not isinstance(tags, str) else (),
        project=str(own.get("project", "")) if isinstance(own, Mapping) else "",
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
        raise NeedsRepair(
            f"the episode cannot be written ({error.strerror})", where=file.parent, remedy="Free disk space, try again"
        ) from error
