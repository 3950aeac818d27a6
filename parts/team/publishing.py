"""What people publish: looked over, written into a topic of the team with its footnote, and taken back on their word.

    topics/mail.md           - The relay listens on port 2526.[^p1f0c...]
                             [^p1f0c...]: published by ann on 2026-11-23, decision 8c51...
    published/<nonce>.json   the publication as it was signed
    published/keys/<hash>    the key of a person, kept when they first publish: another one is refused from then on

All of it is one commit. The token says who publishes; the signature says that they decided these words.
"""

import hashlib
import re
import uuid
from dataclasses import dataclass

import msgspec

from dream.proposals.placing import last_line_of_body, says_already, set_change_day
from memory_server.chunking import split_lines
from memory_server.escaping import escape_line
from memory_server.layers.mif import new_frontmatter, parse_frontmatter
from memory_server.redaction import redact
from parts.team.errors import Forbidden, NotFound, TeamError
from parts.team.outbox import Outbox
from parts.team.publication import NONCE, Publication, format_day
from parts.team.repositories import Files, TeamRepository

NAMESPACE = uuid.UUID("b1c6f0f2-64a5-5a0e-9d2d-6c1f5a3b7e10")  # for ids of topics that a publication founds
UNSAFE = re.compile(r"[^\w.@+ -]")  # in the name of a person, as a footnote shows it


class NotTaken(TeamError):
    """A publication that the memory does not take."""

    status = 422


@dataclass(frozen=True, slots=True)
class Copy:
    """All topics of a team as one commit holds them."""

    commit: str
    files: dict[str, str]  # text by path


class Publishing:
    """Takes publications of people in. Whoever calls has verified who they are, and of which tenant."""

    def __init__(self, outbox: Outbox, team: str = ""):
        """`team`: the address by which people call this server; a publication for another one is refused."""
        self._outbox = outbox
        self._team = team

    def publish(self, tenant: int, person: str, publication: Publication) -> str:
        """Commits a statement; returns the newest commit. The same one again changes nothing.

        Raises NotTaken, Forbidden for another key than the one that this person published with first.
        """
        fault = publication.fault()
        if not fault and self._team and publication.team.rstrip("/") != self._team.rstrip("/"):
            fault = f"it is signed for {escape_line(publication.team)}, not for {self._team}"
        for words in (publication.text, publication.project):
            if redact(words) != words:
                fault = "it holds what looks like a secret"
        if fault:
            raise NotTaken(
                f"the publication does not count: {fault}", remedy="Look at it with `oneiros publish --show`"
            )
        return self._outbox.accept(
            tenant,
            lambda repository: _plan_publication(repository, person, publication),
            _message("Publish", person, publication),
        )

    def revoke(self, tenant: int, person: str, nonce: str) -> str:
        """Takes a statement out of its topic; returns the newest commit. Git's history keeps it.

        Raises NotFound for what this person did not publish.
        """

        def change(repository: TeamRepository) -> Files:
            return _plan_revocation(repository, _record(repository, person, nonce))

        return self._outbox.accept(tenant, change, f"Take a publication back\n\nBy {_clean_name(person)}: {nonce[:16]}")

    def copy(self, tenant: int) -> Copy:
        """What a person keeps to read where there is no network."""
        with self._outbox.hold(tenant):
            repository = self._outbox.repositories.find(tenant)
            commit = repository.head()
            topics = repository.topics(commit) if commit else {}
            ids = {path: blob for path, blob in topics.items() if _is_topic(path)}
            texts = repository.git.contents(list(ids.values()))
            return Copy(commit, {path: text.decode("utf-8", "replace") for path, text in zip(ids, texts, strict=True)})


def _plan_publication(repository: TeamRepository, person: str, publication: Publication) -> Files:
    git, place = repository.git, _place(publication.nonce)
    record = msgspec.json.encode({"person": person, "publication": publication})
    key_file = f"published/keys/{hashlib.sha256(person.encode()).hexdigest()[:32]}"
    key = " ".join(publication.key.split()[:2])
    if (known := git.text(place)) is not None:
        if known.encode() == record:
            return {}
        raise NotTaken("this decision is published already, in other words", remedy="Take it back first")
    if (known := git.text(key_file)) is not None and known.split("\n")[0] != key:
        raise Forbidden(
            "this is not the key that you published with before",
            remedy="Use that one, or ask your admin to remove the old one from the repository",
        )
    text = git.text(publication.target)
    if text is not None and says_already(text, publication.text):
        raise NotTaken(f"{publication.target} says that already", remedy="There is nothing to do")
    return {
        publication.target: with_statement(text, person, publication).encode(),
        place: record,
        key_file: f"{key}\n{_clean_name(person)}\n".encode(),
    }


def _record(repository: TeamRepository, person: str, nonce: str) -> Publication:
    text = repository.git.text(_place(nonce)) if NONCE.fullmatch(nonce) else None
    found = msgspec.json.decode(text, type=dict[str, msgspec.Raw]) if text is not None else {}
    if not found or msgspec.json.decode(found["person"]) != person:
        raise NotFound(f"you published nothing under {nonce[:16]!r}", remedy="`oneiros publish` named it")
    return msgspec.json.decode(found["publication"], type=Publication)


def _plan_revocation(repository: TeamRepository, publication: Publication) -> Files:
    text = repository.git.text(publication.target) or ""
    rest = without_statement(text, publication.label)
    is_empty = not any(line.strip() and not line.startswith("#") for line in parse_frontmatter(rest).body.splitlines())
    changed = {} if rest == text else {publication.target: None if is_empty else rest.encode()}
    return {**changed, _place(publication.nonce): None}


def with_statement(text: str | None, person: str, publication: Publication) -> str:
    """A topic with a statement behind its last one, and a footnote that says whose it is; of no text a new topic."""
    day = format_day(publication)
    if text is None:
        title = re.sub(r"[-_]+", " ", publication.target.rpartition("/")[2].removesuffix(".md")).capitalize()
        fields = {"id": str(uuid.uuid5(NAMESPACE, publication.target)), "type": "semantic", "title": title}
        project = {"project": publication.project} if publication.project else {}
        text = new_frontmatter({**fields, "created": day, "modified": day, **project}) + f"\n# {title}\n"
    lines = split_lines(text if text.endswith("\n") else f"{text}\n")
    at = last_line_of_body("".join(lines))
    before, behind = lines[:at], lines[at:]
    gap = [] if before and before[-1].startswith("- ") else ["\n"]
    note = (
        f"[^{publication.label}]: published by {_clean_name(person)} on {day}, decision {publication.decision[:16]}\n"
    )
    end = [] if behind else ["\n"]
    item = f"- {publication.text}[^{publication.label}]\n"
    return set_change_day("".join([*before, *gap, item, *behind, *end, note]), publication.at.date())


def without_statement(text: str, label: str) -> str:
    """A topic without the lines that refer to a footnote, and without the footnote."""
    return "".join(line for line in split_lines(text) if f"[^{label}]" not in line)


def _is_topic(path: str) -> bool:
    return path == "lessons.md" or path.startswith("topics/")


def _place(nonce: str) -> str:
    return f"published/{nonce}.json"


def _clean_name(person: str) -> str:
    return UNSAFE.sub("_", person)[:80]


def _message(what: str, person: str, publication: Publication) -> str:
    by = f"By {_clean_name(person)}: {publication.nonce}, decision {publication.decision}"
    return f"{what} to {publication.target}\n\n{by}"
