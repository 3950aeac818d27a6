"""A hunk as it is read: lines for a person, a page and a diff for a proposal, JSON for programs, a message for git, and
what was said around its quotes; and the order in which a review asks: the best first, and nothing that takes a line
away before all that only adds.

Everything that was said is shown escaped and set in, with a warning where it speaks like an instruction. In a commit
message a root of its own may quote the statement; inside a project's repository, which is pushed, a message carries ids
and dates alone. Its last line is how a commit is known again.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from crawler.archive.store import Archive
from crawler.quotes import Quote
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from dream.changes import target_text
from dream.proposals.placing import RULES, Manner, anchor_hunk, place_hunk, take_from_origin
from dream.proposals.store import Approval, Proposal
from dream.records import QUESTIONS, Candidate, Hunk, Kind, Relation, State, Words
from dream.statements.provenance import CLAUDE, YOU, write_note
from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.escaping import HIDDEN, escape_line, escape_text, plural
from memory_server.language.cues import ORDERS_ASSISTANT
from memory_server.layers.footnotes import REFERENCE
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import cut_id8
from memory_server.layers.topics import shorten_text, topic_name
from memory_server.machine.clock import local_day
from memory_server.root.paths import MemoryRoot

QUOTE_CHARS = 700
STATEMENT_CHARS = 256  # of a commit's message
HEADS = {
    Relation.DRIFT: "An old decision was gone against. Accept where the new word holds.",
    Relation.EARLIER: "Older words say otherwise. Accept where they hold.",
}  # what a question asks
STANDS = {Relation.DRIFT: "the old decision stands", Relation.EARLIER: "what came later stands"}  # a no to it
SURE = 0.75  # confidence from which its reader was sure: that of a sure finding, see `candidates.py`
KINDS_IN_ORDER = (
    *(Kind.RULE, Kind.DECISION, Kind.PREFERENCE, Kind.CORRECTION, Kind.FACT, Kind.HABIT, Kind.LESSON),
    Kind.FINDING,
)
NEAR_CHARS = 600  # of a turn, on each side of the quote; of a reply its end
SPOKEN = frozenset({PartKind.TEXT, PartKind.PLAN})  # what the assistant tells the person


# -- what changes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One file that a hunk changes, the hunks before it done."""

    hunk: Hunk
    path: SourcePath
    before: str | None
    after: str


def diff_steps(root: MemoryRoot, hunks: Sequence[Hunk], manner: Manner) -> list[Step]:
    """The hunks one after the other, each on what the ones before leave; those that do not fit are left out.

    A hunk has one step, for its target; one that moves a statement another behind it, for the file that it leaves.
    """
    texts: dict[SourcePath, str | None] = {}
    steps: list[Step] = []

    def read(path: SourcePath) -> str | None:
        return texts[path] if path in texts else target_text(root, path)

    for hunk in hunks:
        try:
            made = list(_make_steps(hunk, read, manner))
        except ContentError:
            continue
        texts |= {step.path: step.after for step in made}
        steps += made
    return steps


def _make_steps(hunk: Hunk, read: Callable[[SourcePath], str | None], manner: Manner) -> Iterator[Step]:
    """The steps of one hunk. Raises ContentError where it fits no longer."""
    text, origin = read(hunk.target), hunk.origin
    place = anchor_hunk(text, hunk)
    there = read(origin.path) if origin else None
    taken = take_from_origin(there, hunk, origin, manner.today) if origin else ("", "")
    if place is None or taken is None:
        raise ContentError("it fits no longer", where=hunk.target)
    left, note = taken
    yield Step(hunk, hunk.target, text, place_hunk(text, hunk, place, manner, note))
    if origin:
        yield Step(hunk, origin.path, there, left)


def files_diff(steps: Sequence[Step]) -> Iterable[str]:
    """One unified diff of all files, which `git apply` takes in the memory root."""
    first = {step.path: step.before for step in reversed(steps)}
    last = {step.path: step.after for step in steps}
    return (make_diff(target, first[target], after) for target, after in last.items())


def make_diff(target: str, before: str | None, after: str) -> str:
    """The diff of one file as git writes it."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text or "") for text in (before, after))  # git breaks at LF alone
    source = "/dev/null" if before is None else _quote_name(f"a/{target}")
    lines = list(difflib.unified_diff(old, new, source, _quote_name(f"b/{target}")))
    if not lines:
        return ""
    head = f"diff --git {_quote_name(f'a/{target}')} {_quote_name(f'b/{target}')}\n"
    head += "new file mode 100644\n" if before is None else ""
    tab = "\t" if " " in target else ""
    lines[0], lines[1] = (line.rstrip("\n") + (tab if "/dev/null" not in line else "") + "\n" for line in lines[:2])
    return head + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _quote_name(name: str) -> str:
    """A name as git writes it: in quotes with octal bytes where it holds more than plain characters."""
    quoted = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}" for byte in name.encode("utf-8")
    )
    return name if quoted == name else f'"{quoted}"'


# -- for a person ---------------------------------------------------------------------------------------------------


def hunk_lines(hunk: Hunk, steps: Sequence[Step]) -> Iterator[str]:
    """What a reviewer needs, each thing once: where and what, whose words, and what changes beside a new line of that.

    Of a replacement both lines. `steps`: those of the hunk; none where it fits no longer.
    """
    yield headline(hunk)
    yield from (f"  {line}" for line in escape_text(hunk.text).split("\n"))
    if [words.text for words in hunk.evidence] == [hunk.text]:
        yield f"    in these words: {describe_source(hunk.evidence[0], hunk.update.candidate.project)}"
    else:
        yield from (f"    {line}" for line in quote_lines(hunk))
    if not steps:
        yield "  It fits its topic no longer; `oneiros dream` retires it."
    for step in steps:
        changes = diff_lines(step.before, step.after)
        place, name = hunk.update.place, topic_name(hunk.target).rpartition("/")[2]
        told = {f"- {hunk.text}", f"## {place.section}"}  # the headline says where
        told |= {f"# {place.title}"} if place.title.casefold().replace(" ", "-") == name else set()
        is_told = all(sign == "+" and line in told for sign, line in changes)
        if is_told and len(steps) == 1:
            continue
        what = "in place of a line:" if hunk.update.place.old_text else "what changes:"
        yield f"  {what}" if step.path == hunk.target else f"  out of {escape_line(step.path)}:"
        yield from (f"    {sign} {escape_line(line)}" for sign, line in changes)
    yield from (f"  {line}" for line in about_lines(hunk))


def headline(hunk: Hunk) -> str:
    """Where a statement goes, what it is, and how it stands to what is there."""
    place, candidate = hunk.update.place, hunk.update.candidate
    section = f", {escape_line(place.section)}" if place.section else ""
    new = " (new)" if place.title else ""
    sure = "sure" if candidate.confidence >= SURE else "not sure"
    return f"{escape_line(hunk.target)}{new}{section}: {candidate.kind}, {hunk.update.relation}, {sure}"


def diff_lines(before: str | None, after: str) -> list[tuple[str, str]]:
    """The lines that go and come, each with its sign, as a reader of a topic sees them: without frontmatter, rules and
    footnotes.
    """
    old, new = (_readable(text or "") for text in (before, after))
    diff = difflib.unified_diff(old, new, n=0, lineterm="")
    return [(line[0], line[1:]) for line in list(diff)[2:] if not line.startswith("@@")]


def _readable(text: str) -> list[str]:
    body = parse_frontmatter(text).body
    lines, code = split_lines(body), code_lines(body)
    shown = (
        line.rstrip() if number in code else REFERENCE.sub("", line).rstrip()
        for number, line in enumerate(lines)
        if number in code or not (FOOTNOTE_DEFINITION.match(line) or RULES.match(line))
    )
    return [line for line in shown if line]


def evidence_lines(hunk: Hunk) -> Iterator[str]:
    """Whose words a hunk rests on, and what is said about it."""
    yield from quote_lines(hunk)
    yield from about_lines(hunk)


def quote_lines(hunk: Hunk) -> Iterator[str]:
    """The words that a hunk rests on, and whose they are."""
    for words in hunk.evidence:
        yield f"{describe_source(words, hunk.update.candidate.project)}:"
        more = len(words.text) - QUOTE_CHARS
        text = words.text if more <= 0 else f"{words.text[:QUOTE_CHARS]}… ({more} characters more)"
        yield from (f"> {line}" for line in escape_text(text).split("\n"))


def about_lines(hunk: Hunk) -> Iterator[str]:
    """What a hunk is filed under, why it was taken and compared so, and what to look at twice."""
    candidate = hunk.update.candidate
    yield from metadata_lines(candidate)
    yield f"why: {escape_line(candidate.why)}; {escape_line(hunk.update.why)}"
    yield from (f"CAREFUL: {warning}" for warning in warnings_about(hunk))


def describe_source(words: Words, project: str) -> str:
    """Who said some words and when, or where they are written."""
    if isinstance(words, Quote):
        who = {Role.PERSON: YOU, Role.ASSISTANT: CLAUDE}.get(words.role, words.role)
        return f"{who}, {words.time.strftime('%Y-%m-%d %H:%M') if words.time else 'undated'}"
    day = local_day(words.time).isoformat() if words.time else "undated"
    return f"{escape_line(words.describe_place(project))}, {day}"


def metadata_lines(candidate: Candidate) -> Iterator[str]:
    """What a statement is filed under and cites, with a mark behind what the person did not say."""
    for name, values in candidate.metadata.collect_values().items():
        marked = (
            f"{escape_line(one)}{' (agent_inferred)' if one in candidate.inferred_metadata else ''}" for one in values
        )
        yield f"{name}: {', '.join(marked)}"


def warnings_about(hunk: Hunk) -> Iterator[str]:
    """What a reviewer should look at twice."""
    texts = [hunk.text, *(words.text for words in hunk.evidence)]
    if any(ORDERS_ASSISTANT.search(text) for text in texts):
        yield "it reads like an instruction to an assistant"
    if any(HIDDEN.search(text.replace("\r\n", "\n")) for text in texts):
        yield "it holds characters that no screen shows; they are written out"


def proposal_page(proposal: Proposal, steps: Sequence[Step]) -> str:
    """The proposal as a page: each hunk in the lines of a review, with the command that reads on."""
    waiting = sum(hunk.is_open for hunk in proposal.hunks)
    lines = [
        f"# Proposal {proposal.name}",
        "",
        f"{plural(len(proposal.hunks), 'hunk')}, {waiting} open. Decide: `oneiros review`; nothing holds before.",
    ]
    for hunk in proposal.hunks:
        own = [step for step in steps if step.hunk.id == hunk.id]
        shown = hunk_lines(hunk, own) if own else (headline(hunk), *evidence_lines(hunk))
        lines += ["", f"## {hunk.id} ({hunk.state})", "", *(f"    {line}" for line in shown), ""]
        lines += [f"- {hunk.state}: {escape_line(hunk.reason)}"] if hunk.reason else []
        drilled = dict.fromkeys((cut_id8(quote.session_id), escape_line(quote.entry)[:8]) for quote in hunk.quotes)
        lines += [f"- read on: `oneiros drill {session} --entry {entry}`" for session, entry in drilled]
    return "\n".join(lines) + "\n"


# -- for programs ---------------------------------------------------------------------------------------------------


def hunk_json(hunk: Hunk) -> dict[str, object]:
    """A hunk for programs and pages; what cannot be seen is written out."""
    candidate = hunk.update.candidate
    return {
        "id": hunk.id,
        "proposal": hunk.proposal,
        "state": hunk.state.value,
        "target": hunk.target,
        "kind": candidate.kind.value,
        "relation": hunk.update.relation.value,
        "text": escape_text(hunk.text),
        "confidence": candidate.confidence,
        "why": [candidate.why, hunk.update.why],
        "extractor": candidate.extractor,
        "replaces": escape_text(hunk.update.place.old_text),
        "moved_from": hunk.origin.path if hunk.origin else "",
        "reason": hunk.reason,
        "warnings": list(warnings_about(hunk)),
        "quotes": [
            {
                "session": quote.session_id,
                "entry": quote.entry,
                "role": quote.role.value,
                "time": quote.time.isoformat() if quote.time else None,
                "first": quote.first,
                "end": quote.end,
                "text": escape_text(quote.text),
            }
            for quote in hunk.quotes
        ],
        "given": [
            {
                "where": escape_line(given.describe_place(candidate.project)),
                "time": given.time.isoformat() if given.time else None,
                "text": escape_text(given.text),
            }
            for given in candidate.given
        ],
        "metadata": {name: list(values) for name, values in candidate.metadata.collect_values().items()},
        "agent_inferred": list(candidate.inferred_metadata),
    }


# -- for git --------------------------------------------------------------------------------------------------------


def format_acceptance(accepted: Sequence[tuple[Hunk, Approval]], *, is_own: bool) -> str:
    """The message for accepted hunks of one topic."""
    lines: list[str] = []
    for hunk, _ in accepted:
        statement = [shorten_text(escape_line(hunk.text), STATEMENT_CHARS), ""] if is_own else []
        suggested = f"{hunk.update.relation}, suggested by {escape_line(hunk.update.candidate.extractor)}."
        moved = [f"Moved from {hunk.origin.path}."] if hunk.origin else []
        lines += [*([""] if lines else []), *statement, suggested, *moved, _evidence(hunk)]
    first = accepted[0][0]
    what = f"{first.update.candidate.kind} {first.id}" if len(accepted) == 1 else f"{len(accepted)} statements"
    return format_message(f"Take up {what} in {first.target}", lines, *(approval for _, approval in accepted))


def format_reversal(hunk: Hunk, approval: Approval) -> str:
    """The message for a hunk that was taken out again."""
    return format_message(f"Take {hunk.id} out of {hunk.target} again", [_evidence(hunk)], approval)


def format_adoption(paths: Sequence[str], approval: Approval) -> str:
    """The message for changes made elsewhere that a person answers for."""
    subject = f"Adopt the change of {paths[0]}" if len(paths) == 1 else f"Adopt the changes of {len(paths)} files"
    return format_message(subject, paths, approval)


def _evidence(hunk: Hunk) -> str:
    entries = [f"{one.session_id}/{one.entry}" for one in hunk.quotes]
    marks = f" ({', '.join(map(escape_line, entries))})" if entries else ""
    return f"Evidence: {write_note(hunk.update.candidate)}{marks}."


def format_message(subject: str, lines: Sequence[str], *approvals: Approval) -> str:
    """The message of a commit: its last lines are how it is known again."""
    return "\n".join([subject, "", *lines, "", *(f"Oneiros-approval: {one.nonce}" for one in approvals), ""])


# -- in which order a review asks -----------------------------------------------------------------------------------


class Tier(IntEnum):
    """Which hunks come before others in a review."""

    SURE = 0
    UNSURE = 1
    REPLACING = 2
    QUESTION = 3


def find_tier(hunk: Hunk) -> Tier:
    """Which hunks come before others in a review."""
    if hunk.update.relation in QUESTIONS:
        return Tier.QUESTION
    if hunk.update.place.old_text or hunk.origin:
        return Tier.REPLACING
    return Tier.SURE if hunk.update.candidate.confidence >= SURE else Tier.UNSURE


def in_review_order(hunks: Iterable[Hunk]) -> list[Hunk]:
    """The hunks by their tier, in each tier topic by topic, the topic with the best kind first, and by kind.

    What is alike in all of this stays in the order in which it was given.
    """
    given = list(hunks)
    ranks = [(find_tier(hunk), hunk.target, KINDS_IN_ORDER.index(hunk.update.candidate.kind)) for hunk in given]
    best: dict[tuple[Tier, str], tuple[int, int]] = {}  # the best kind of a topic in a tier, and where it is first met
    for place, (tier, target, kind) in enumerate(ranks):
        known = best.get((tier, target), (kind, place))
        best[tier, target] = min(known[0], kind), known[1]
    order = sorted(range(len(given)), key=lambda at: (ranks[at][0], best[ranks[at][:2]], ranks[at][2]))
    return [given[at] for at in order]


def waiting_for_person(hunks: Iterable[Hunk]) -> list[Hunk]:
    """The hunks that a review asks about, in its order."""
    return in_review_order(hunk for hunk in hunks if hunk.state in (State.PENDING, State.FLAGGED))


def rest_of_topic(hunk: Hunk, hunks: Iterable[Hunk]) -> list[Hunk]:
    """What else of some hunks is taken with one of its topic; what replaces a line is asked about by itself."""
    return [one for one in hunks if one.target == hunk.target and one.id != hunk.id and find_tier(one) < Tier.REPLACING]


# -- what was said around a quote -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heard:
    """Words of one turn."""

    role: Role
    text: str  # cut to what is near, with … where something was left out
    first: int = 0  # where the quote begins in it, and ends; both 0 where it does not stand in it
    end: int = 0


def read_context(archive: Archive, quote: Quote) -> list[Heard]:
    """The words around a quote, in their order. Raises ContentError where the archive has it no longer."""
    turns = list(archive.turns(quote.session_id))
    place = next((at for at, turn in enumerate(turns) if quote.entry in turn.entries), None)
    if place is None or turns[place].text[quote.first : quote.end] != quote.text:
        raise ContentError("the archive does not hold these words any more", where=f"session {quote.session_id[:8]}")
    prompts = [at for at, turn in enumerate(turns) if turn.is_prompt or (at == place and turn.role is Role.PERSON)]
    prompt = max((at for at in prompts if at <= place), default=place)
    before = max((at for at in prompts if at < prompt), default=None)
    following = min((at for at in prompts if at > prompt), default=len(turns))
    replies = [
        at for at in range(prompt + 1, following) if turns[at].role is Role.ASSISTANT and turns[at].kind in SPOKEN
    ]
    places = {*([] if before is None else [before]), prompt, place, *replies[-1:]}
    return [_heard(turns[at], quote if at == place else None) for at in sorted(places)]


def _heard(turn: Turn, quote: Quote | None) -> Heard:
    """A turn near its quote, or the end of it."""
    if quote is None:
        return Heard(turn.role, f"…{turn.text[-NEAR_CHARS:]}" if len(turn.text) > NEAR_CHARS else turn.text)
    first, end = max(0, quote.first - NEAR_CHARS), quote.end + NEAR_CHARS
    lead = "…" if first else ""
    text = f"{lead}{turn.text[first:end]}{'…' if end < len(turn.text) else ''}"
    begin = len(lead) + quote.first - first
    return Heard(turn.role, text, begin, begin + len(quote.text))
