"""Accepted statements that move to another topic: proposed and accepted like any other change, which then is one of two
files (`planning.py`). Those may move behind which a yes of the person stands, in a place of their own.
"""

import datetime as dt
from dataclasses import replace

from dream.decisions.chain import Chain
from dream.proposals.placing import find_item, read_item_note
from dream.proposals.store import Approval, Event, ProposalStore, check_path, find_approvals
from dream.records import Hunk, Place, StatementOrigin, make_hunk_id
from dream.topics import LESSONS
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.topics import read_text


def find_movable(path: SourcePath, label: str, store: ProposalStore, chain: Chain) -> Approval:
    """The yes behind the statement of a topic that has this footnote.

    Raises ContentError for a lesson, where the chain vouches for none, where no one list item says just this, and where
    its footnote is not one line.
    """
    if path == LESSONS:
        raise ContentError("a lesson stays in lessons.md", where=path, remedy="Edit it there")
    text = read_text(check_path(store.root, path))
    yes = find_approvals(text, store.approvals()).get(label)
    if yes is None or not chain.find_entry(yes):
        raise ContentError("no yes of yours stands behind it", where=path, remedy="Move it in your editor")
    item = find_item(text, yes.text)
    if item is None or label not in item.labels:
        raise ContentError("it has no list item of its own", where=path, remedy="Move it in your editor")
    if not read_item_note(text, item):
        raise ContentError("its footnote is not one line", where=path, remedy="Move it in your editor")
    return yes


def make_move(accepted: Hunk, yes: Approval, path: SourcePath, today: dt.date) -> Hunk:
    """A statement that stands in the topic of this path by this yes, as a hunk that is to be put elsewhere.

    `accepted`: the hunk that the yes was about.
    """
    words, text = accepted.update.candidate, yes.suggested or yes.text
    candidate = replace(words, text=text, quotes=yes.quotes, given=yes.given, questions=yes.questions)
    here = Place(path, 0, origin=StatementOrigin(path, yes.text, yes.name))
    return Hunk("", replace(accepted.update, candidate=candidate, place=here), yes.text, today)


def may_move(hunk: Hunk, store: ProposalStore, chain: Chain) -> bool:
    """Whether a hunk moves what the person said yes to, in these words, with these sources and questions.

    The archive is not asked again: a session may have been pruned since.
    """
    candidate, origin = hunk.update.candidate, hunk.origin
    if origin is None or origin.path == hunk.target or hunk.id != make_hunk_id(hunk.evidence, hunk.target, origin):
        return False
    moved = (origin.text, origin.text, candidate.text, candidate.quotes, candidate.given, candidate.questions)
    return any(
        (yes.text, hunk.text, yes.suggested or yes.text, yes.quotes, yes.given, yes.questions) == moved
        for yes in store.approvals()
        if yes.event is Event.ACCEPTED and yes.name == origin.approval and chain.find_entry(yes)
    )
