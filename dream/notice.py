"""What a session is told at its start: changes of layer 1 that nobody answered for, and sessions to be read.

The same memory gives the same bytes: no clock, no counter, so that prompt caches and resumed sessions stay whole.
"""

from crawler.injected import TAG
from dream.accept import Decisions
from dream.doubts import doubts_for_model
from dream.progress import DreamProgress
from memory_server.errors import OneirosError

START = "SessionStart"


def session_notice(decisions: Decisions, event: str) -> str:
    """The text for the start of a session, inside our tag; empty for other events and where all is in order."""
    if event != START:
        return ""
    lines = [*_unexplained(decisions)]
    if DreamProgress(decisions.root).glance(decisions.now()):
        lines.append("Sessions wait to be read: the person may run /dream or `oneiros dream`.")
    return "\n".join([f"<{TAG}>", *lines, f"</{TAG}>", ""]) if lines else ""


def _unexplained(decisions: Decisions) -> list[str]:
    try:
        return doubts_for_model(decisions.unexplained())
    except OneirosError:
        return []  # a hook stays silent; the report says it
