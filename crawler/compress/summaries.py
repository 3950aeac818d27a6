"""What a source says in at most 500 characters: by its head, or by lines that the extractive compressor chooses."""

from crawler.compress.candidates import DigestCandidate, SectionName
from crawler.compress.selection import choose
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import STATEMENT, SUMMARY_CHARS

MOST_LINE_CHARS = 160  # a longer one would leave no room for a second


def summary_of_file(text: str) -> str:
    """What the head of a file says it is about, else lines that say most of it, in its order; SUMMARY_CHARS at most."""
    parsed = parse_frontmatter(text)
    if own := " ".join(parsed.text("summary").split()):
        return own[:SUMMARY_CHARS]
    lines = [line.strip() for line in parsed.body.splitlines()]
    told = [found["text"] if (found := STATEMENT.match(line)) else line for line in lines if line and line[0] != "#"]
    candidates = [DigestCandidate(SectionName.OUTCOME, line[:MOST_LINE_CHARS], ()) for line in told]
    chosen = choose(candidates, told, max_chars=SUMMARY_CHARS)
    return " ".join(one.text for one in chosen.chosen)[:SUMMARY_CHARS]
