"""The weekly review as text: one screen first, the details below it."""

from collections.abc import Iterator, Sequence

from dream.report.finding import Finding, Part
from dream.report.review import Review

SCREEN_LINES = 24  # of a plain terminal
WIDTH = 100


def first_screen(review: Review) -> list[str]:
    """What fits on one screen: a line a part, with its first finding."""
    counts = f"{review.accepted} accepted, {review.rejected} rejected, {review.asked} questions asked"
    lines = [f"Week {review.week} to {review.day.isoformat()}: {counts}.", ""]
    for part in Part:
        found = review.of(part)
        lines.append(f"{len(found) or 'no':>4}  {part.value}")
        if found:
            lines.append(_shortened(f"        {_lead(found[0])}"))
    lines += ["", _next(review.findings)]
    assert len(lines) <= SCREEN_LINES
    return lines


def report_page(review: Review) -> str:
    """The file of a week: the screen, then every finding."""
    lines = [f"# Review of week {review.week}", "", "```", *first_screen(review), "```"]
    for part in Part:
        if found := review.of(part):
            lines += ["", f"## {part.value[:1].upper()}{part.value[1:]}", "", *_details(found)]
    return "\n".join(lines) + "\n"


def _details(found: Sequence[Finding]) -> Iterator[str]:
    for finding in found:
        place = f"`{finding.place}`: " if finding.place else ""
        yield f"- {place}{finding.what}. Next: {finding.step}."


def _lead(finding: Finding) -> str:
    return f"{finding.place}  {finding.what}" if finding.place else finding.what


def _next(findings: Sequence[Finding]) -> str:
    return _shortened(f"Next: {findings[0].step}") if findings else "Nothing asks for you this week."


def _shortened(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
