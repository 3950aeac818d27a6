"""A team's memory as a person reaches it: what is sent to its server, and the copy of its topics below `topics/team/`.

What the server says is data: names are held to the grammar of topics, nothing else is written, and the files are topics
of the person's memory only once they have looked at them and said yes. They are read without the team's network.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dream.changes import MAX_TARGET_CHARS, PLAIN
from dream.decisions.accept import Decisions
from dream.decisions.presence import Consent
from memory_server.errors import NeedsRepair, UsageError
from memory_server.layers.topics import markdown_files, read_text
from memory_server.machine.files import make_folder, read_json, remove_file, replace_file
from memory_server.root.paths import MemoryRoot
from parts.team.publication import Publication

TOKEN = "ONEIROS_TEAM_TOKEN"  # noqa: S105  a variable's name
BELOW = "topics/team/"
SECONDS = 30.0
MOST_BYTES = 50_000_000  # of a copy


@dataclass(frozen=True, slots=True)
class CopyNote:
    """What is known of the copy: kept in the person's state of the memory."""

    team: str
    commit: str
    fetched: dt.datetime
    topics: int

    def age(self, now: dt.datetime) -> str:
        """How old it is, in words."""
        hours = max(0, int((now - self.fetched).total_seconds() // 3600))
        return f"{hours // 24} days old" if hours >= 48 else f"{hours} hours old" if hours else "less than an hour old"


class TeamServer:
    """The server of the person's team, with their token."""

    def __init__(self, url: str, token: str):
        """Raises UsageError for an address to which no token is sent: any but https, and http of this machine."""
        parts = urlsplit(url)
        is_here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
        if not url or parts.username or not (is_here or (parts.scheme == "https" and parts.hostname)):
            remedy = "`oneiros config team_url https://...`"
            raise UsageError(f"team_url is {url!r}, which is no address of a team", remedy=remedy)
        if not token:
            raise UsageError(f"{TOKEN} is not set", remedy="Set it to the token that your team's admin made for you")
        self.url, self._token = url.rstrip("/"), token

    def publish(self, publication: Publication) -> str:
        """Sends a signed statement; the commit that holds it."""
        return str(self._answer("POST", "/api/publish", msgspec.to_builtins(publication)).get("commit", ""))

    def revoke(self, nonce: str) -> str:
        """Has a statement taken out of its topic; the commit without it."""
        return str(self._answer("POST", "/api/revoke", {"nonce": nonce}).get("commit", ""))

    def copy(self) -> tuple[str, dict[str, str]]:
        """The newest commit and its topics, as text by the path that each has in the copy."""
        answer = self._answer("GET", "/api/copy", None)
        files = answer.get("files")
        given = files.items() if isinstance(files, dict) else ()
        found = {BELOW + path.removeprefix("topics/"): text for path, text in given if isinstance(text, str)}
        plain = {path: text for path, text in found.items() if PLAIN.fullmatch(path) and len(path) <= MAX_TARGET_CHARS}
        return str(answer.get("commit", "")), plain

    def _answer(self, method: str, path: str, body: Any) -> Mapping[str, Any]:
        """Raises NeedsRepair where the server cannot be reached, UsageError with the sentence by which it refuses."""
        import httpx  # noqa: PLC0415  more than all the rest of a command that asks no team

        try:
            with (
                httpx.Client(timeout=SECONDS, trust_env=False) as client,
                client.stream(
                    method, self.url + path, json=body, headers={"Authorization": f"Bearer {self._token}"}
                ) as response,
            ):
                received = b""
                for piece in response.iter_bytes():
                    received += piece
                    if len(received) > MOST_BYTES:
                        raise NeedsRepair(f"{self.url} sends more than {MOST_BYTES:,} bytes")
            answer = msgspec.json.decode(received)
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            remedy = "Try again later; the copy that you have can be read"
            raise NeedsRepair(f"{self.url} does not answer ({type(error).__name__})", remedy=remedy) from error
        if response.status_code != 200 or not isinstance(answer, dict):
            refusal = answer.get("error") if isinstance(answer, dict) else None
            what = refusal.get("what", "") if isinstance(refusal, dict) else ""
            raise UsageError(f"{self.url} refused: {what or response.status_code}", remedy="Ask your team's admin")
        return answer


def find_changes(root: MemoryRoot, files: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """What a copy changes below `topics/team/`: the text before and after by path; None where there is none."""
    folder = root.path / BELOW
    there = {str(root.relative(file)): read_text(file) for file in markdown_files(folder)} if folder.is_dir() else {}
    paths = sorted(there.keys() | files.keys())
    return {path: (there.get(path), files.get(path)) for path in paths if there.get(path) != files.get(path)}


def write_copy(root: MemoryRoot, changes: Mapping[str, tuple[str | None, str | None]]) -> None:
    """Writes the copy; what the team no longer has goes."""
    for path, (_, text) in changes.items():
        file = root.path / path
        if text is None:
            remove_file(file)
        else:
            make_folder(file.parent)
            replace_file(file, text)


def take_up_copy(
    decisions: Decisions, changes: Mapping[str, tuple[str | None, str | None]], consent: Callable[[], Consent]
) -> None:
    """Makes a copy part of the memory, as the person's decision. Raises, without their consent, before it writes."""
    decisions.find_unexplained()  # what was there before is noted before anything is written
    given = consent()
    write_copy(decisions.root, changes)
    paths = [one.path for one in decisions.find_unexplained() if one.path in changes]
    if paths:
        decisions.adopt(paths, given)


def note_file(root: MemoryRoot) -> Path:
    """Where it is kept what is known of the copy."""
    return root.state / "team.json"


def read_note(root: MemoryRoot) -> CopyNote | None:
    """What is known of the copy; None where there is none."""
    return read_json(note_file(root), CopyNote, None)
