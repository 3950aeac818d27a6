"""Pairs by plain rules: the same text gives the same pairs, no model, no network.

Two rules. A sentence of the form "<subject> <verb> <rest>" answers "What <verb> <subject>?"; a paragraph answers
"What is said about <heading>?". The answer is always the text's own words.
"""

import re
from collections.abc import Iterator

from trainer.extract.chunks import HEADING, PARAGRAPH_END, SENTENCE_END, Chunk
from trainer.pairs import SYSTEM, Pair

MAX_SUBJECT_WORDS = 7  # a longer one is a clause, and the question would not be English
ANSWER_CHARS = 600  # a paragraph is cut at the last sentence that ends before this
VERBS = {
    "is": "What is {subject}?",
    "are": "What are {subject}?",
    "has": "What does {subject} have?",
    "have": "What do {subject} have?",
    "holds": "What does {subject} hold?",
    "hold": "What do {subject} hold?",
    "uses": "What does {subject} use?",
    "needs": "What does {subject} need?",
    "means": "What does {subject} mean?",
    "writes": "What does {subject} write?",
    "reads": "What does {subject} read?",
    "runs": "What does {subject} run?",
    "listens": "Where does {subject} listen?",
    "lives": "Where does {subject} live?",
    "lies": "Where does {subject} lie?",
    "stands": "Where does {subject} stand?",
    "must": "What must {subject} do?",
    "may": "What may {subject} do?",
    "never": "What does {subject} never do?",
}
STATEMENT = re.compile(
    rf"^(?P<subject>[A-Z`][^.,;:!?()|]*?)\s+(?P<verb>{'|'.join(VERBS)})\s+(?P<rest>\S.*)$", re.DOTALL
)
MARKUP = re.compile(r"^[-*+>]\s+|^\d+[.)]\s+|\*\*|\[\^[^\]]+\]|^\[[ x]\]\s+", re.MULTILINE)
CLAUSES = frozenset({"that", "which", "who", "where", "when", "what", "if", "and", "or", "whose"})
UNCLEAR = frozenset(
    {
        "it",
        "this",
        "that",
        "these",
        "those",
        "they",
        "he",
        "she",
        "there",
        "here",
        "what",
        "which",
        "we",
        "nobody",
        "nothing",
    }
)


class RuleGenerator:
    """The deterministic back end."""

    name = "rules"
    destination = "this machine"

    def pairs(self, chunk: Chunk, count: int) -> list[Pair]:
        """At most `count` pairs, statements first, then paragraphs under their heading."""
        found = [*statement_pairs(chunk), *heading_pairs(chunk)]
        return found[:count]


def statement_pairs(chunk: Chunk) -> Iterator[Pair]:
    """A pair for every sentence that says something of a short, named subject."""
    for paragraph in split_prose(chunk.text):
        for sentence in SENTENCE_END.split(paragraph):
            match = STATEMENT.match(sentence.strip())
            if match is None:
                continue
            subject = match["subject"]
            if not is_named(subject):
                continue
            question = VERBS[match["verb"]].format(subject=lower_article(subject))
            yield Pair(question, as_sentence(sentence), SYSTEM, chunk.source, chunk.id)


def is_named(subject: str) -> bool:
    """Whether the words before the verb name one thing: short, no pronoun, no clause that the verb belongs to."""
    words = subject.casefold().split()
    return len(words) <= MAX_SUBJECT_WORDS and words[0] not in UNCLEAR and CLAUSES.isdisjoint(words[1:])


def heading_pairs(chunk: Chunk) -> Iterator[Pair]:
    """A pair for the first paragraph below each heading."""
    heading, answered = chunk.heading, False
    for block in PARAGRAPH_END.split(chunk.text):
        first, _, rest = block.strip().partition("\n")
        if match := HEADING.match(first):
            heading, answered, block = match[2], False, rest
        prose = " ".join(split_prose(block))
        if heading and prose and not answered:
            answered = True
            yield Pair(f"What is known about {heading}?", shorten_answer(prose), SYSTEM, chunk.source, chunk.id)


def split_prose(text: str) -> Iterator[str]:
    """Paragraphs and list items as plain sentences; headings, tables and code are left out."""
    fenced = False
    for block in PARAGRAPH_END.split(text):
        lines: list[str] = []
        for line in block.split("\n"):
            if line.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
            elif not fenced and not line.lstrip().startswith(("#", "|", "[^")) and not line.startswith("    "):
                if re.match(r"\s*(?:[-*+]|\d+[.)])\s", line) and lines:
                    yield plain(lines)
                    lines = []
                lines.append(line.strip())
        if any(lines):
            yield plain(lines)


def plain(lines: list[str]) -> str:
    """The lines as one, without list marks, bold marks and footnote calls."""
    return MARKUP.sub("", " ".join(lines)).strip()


def lower_article(subject: str) -> str:
    """The subject as it stands within a sentence: a leading article loses its capital, a name keeps it."""
    first, space, rest = subject.partition(" ")
    return f"{first.lower()}{space}{rest}" if first in {"The", "A", "An", "Every", "Each", "One", "All"} else subject


def shorten_answer(text: str) -> str:
    """The leading sentences that fit an answer."""
    if len(text) <= ANSWER_CHARS:
        return as_sentence(text)
    gathered = ""
    for sentence in SENTENCE_END.split(text):
        if gathered and len(gathered) + len(sentence) + 1 > ANSWER_CHARS:
            break
        gathered = f"{gathered} {sentence}".strip()
    return as_sentence(gathered[:ANSWER_CHARS])


def as_sentence(text: str) -> str:
    """The text on one line, with an end mark."""
    line = " ".join(text.split()).rstrip(":;,")
    return line if line.endswith((".", "!", "?")) else f"{line}."
