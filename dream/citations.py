"""What rests on which session: the footnotes of approved statements, open hunks, and what a person has decided.

Nothing that is cited fades or is pruned: where two layers disagree, these turns arbitrate.
"""

from collections import Counter
from collections.abc import Mapping

from dream.proposals.store import ProposalStore
from dream.statements.provenance import read_note, read_notes
from memory_server.document import Layer
from memory_server.errors import ContentError
from memory_server.layers.sessions import cut_id8
from memory_server.layers.topics import find_sources, read_text
from memory_server.root.paths import MemoryRoot


def count_citations(root: MemoryRoot) -> Mapping[str, int]:
    """How many statements, hunks and decisions rest on each session, by the beginning of its id."""
    found: Counter[str] = Counter()
    for source in find_sources(root):
        if source.layer is Layer.TOPIC:
            try:
                text = read_text(root.file(source.path))
            except ContentError:
                continue  # `validate` names it
            for note in read_notes(text).values():
                found.update({cut_id8(source.session_id) for source in read_note(note) if source.session_id})
    store = ProposalStore(root)
    quoted = [hunk.quotes for hunk in store.hunks() if hunk.is_open]
    quoted += [approval.quotes for approval in store.approvals()]
    for quotes in quoted:
        found.update({cut_id8(quote.session_id) for quote in quotes})
    return found
