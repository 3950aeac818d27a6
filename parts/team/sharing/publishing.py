"""What a person publishes: an accepted statement with the signed entry of its decision, secrets masked once more."""

from collections.abc import Callable
from dataclasses import replace

from dream.changes import PLAIN, Event
from dream.decisions.accept import Decisions
from dream.proposals.store import Approval
from dream.records import State
from memory_server.errors import ContentError, UsageError
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import read_text
from memory_server.redaction import Redactor
from memory_server.settings import PersonSettings
from parts.team.publication import Publication


def build_publication(decisions: Decisions, name: str, person: PersonSettings) -> Publication:
    """An accepted hunk as it would be published, but for its signature.

    Raises UsageError for what was not accepted, or is signed by no key; ContentError for what is no statement.
    """
    hunk = decisions.store.hunk(name)
    approval = _acceptance(decisions, hunk.id) if hunk.state is State.ACCEPTED else None
    entry = decisions.chain().find_entry(approval) if approval else None
    if approval is None or entry is None:
        raise UsageError(f"hunk {hunk.id} is not accepted", remedy="Publish what `oneiros review` accepted")
    covering = decisions.chain().covering(entry)
    if covering is None or not person.signing_key:
        raise UsageError("no key of yours signed that decision", remedy="`oneiros key new`, then `oneiros review`")
    signing, passkey = covering
    paths = [one.path for one in approval.files if PLAIN.fullmatch(one.path)]
    if "```" in approval.text or not paths:
        raise ContentError("only a statement of a topic is published, and no code block", where=f"hunk {hunk.id}")
    redactor = Redactor(person.deny_words)
    topic = parse_frontmatter(read_text(decisions.root.path / paths[0]))
    return Publication(
        nonce=approval.nonce,
        team=person.team_url,
        topic=paths[0],
        project=redactor.redact(topic.text("project")).text,
        text=redactor.redact(" ".join(approval.text.split())).text,
        at=decisions.now(),
        entry=entry.line.decode(),
        covering=signing.line.decode(),
        key=" ".join(person.signing_key.split()[:2]),
        passkey=passkey and replace(passkey, name=""),  # what a person calls their device is theirs
    )


def sign_publication(publication: Publication, signature_of: Callable[[bytes], str]) -> Publication:
    """The publication with its signature. Raises ContentError where it would not count."""
    whole = replace(publication, signature=signature_of(publication.signed_bytes))
    if fault := whole.fault():
        raise ContentError(f"it would not be taken: {fault}", where=publication.topic)
    return whole


def find_nonce(decisions: Decisions, name: str) -> str:
    """By which name the publication of a hunk is known to the team. Raises UsageError where it was never accepted."""
    approval = _acceptance(decisions, decisions.store.hunk(name).id)
    if approval is None:
        raise UsageError(f"hunk {name} was never accepted", remedy="`oneiros review --list` names what is open")
    return approval.nonce


def _acceptance(decisions: Decisions, hunk: str) -> Approval | None:
    found = [one for one in decisions.store.approvals() if one.hunk == hunk and one.event is Event.ACCEPTED]
    return found[-1] if found else None
