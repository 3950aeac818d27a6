"""The health of a memory: what doctor, validate and report find, as a score and what was taken off it, each with its
reason. It is a rule of thumb for the person, who sees every part of it; no hook puts it before a model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dream.report.findings import Concern, Finding
from memory_server.errors import Problem
from memory_server.escaping import escape_line
from memory_server.layers.topics import shorten_text
from memory_server.layers.validate import ValidationRule
from oneiros.claude.checks import Check

WHOLE = 100
REASON_CHARS = 160
NAMED_ELSEWHERE = ("memory", "disk")  # checks of doctor whose warnings validate and report name one by one
HARMLESS = ("settings",)  # their warning: a memory of a checkout that is not trusted, as may be meant
# points of each finding, and of all of its kind at most; what loses or misleads weighs more than what is old. Two parts
# of report do not count: problems of MEMORY.md, which validate tells, and changes, of which doctor has the doubts
COSTS = {
    "failed checks": (25, 50),
    "warnings": (3, 15),
    "doubts about approved files": (5, 15),
    "problems of files": (1, 15),
    Concern.CONTRADICTION: (3, 15),
    Concern.DRIFT: (1, 5),
    Concern.EVIDENCE: (1, 10),
    Concern.PROPOSALS: (1, 5),
    Concern.STALE: (1, 5),
    Concern.LINKS: (1, 5),
    Concern.QUERIES: (1, 5),
    Concern.USE: (1, 5),
    Concern.INDEX: (5, 20),
}


@dataclass(frozen=True, slots=True)
class Deduction:
    """What was taken off for one kind of finding."""

    points: int
    what: str  # how many there are, and the first of them
    step: str  # what to do about that one


@dataclass(frozen=True, slots=True)
class Health:
    """A memory as it stands."""

    deductions: tuple[Deduction, ...]  # the largest first
    fading: int = 0  # sessions and episodes that a run of gc would let fade
    sources: int = 0  # of so many

    @property
    def score(self) -> int:
        """0 to 100."""
        return max(0, WHOLE - sum(one.points for one in self.deductions))


def list_deductions(
    checks: Sequence[tuple[str, Check]], problems: Sequence[Problem], findings: Sequence[Finding]
) -> tuple[Deduction, ...]:
    """What is taken off for findings of doctor, validate and report, the largest first; nothing counts twice."""
    found = list(_list_findings(checks, problems, findings))
    taken = []
    for kind, (each, most) in COSTS.items():
        if mine := [(what, step) for its, what, step in found if its == kind]:
            what = shorten_text(escape_line(f"{len(mine)} {kind}: {mine[0][0]}"), REASON_CHARS)
            taken.append(Deduction(min(each * len(mine), most), what, escape_line(mine[0][1])))
    return tuple(sorted(taken, key=lambda one: -one.points))


def _list_findings(
    checks: Sequence[tuple[str, Check]], problems: Sequence[Problem], findings: Sequence[Finding]
) -> Iterator[tuple[str, str, str]]:
    """Each finding once: its kind, what it is, what to do."""
    for name, check in checks:
        if check.state == "failed":
            yield "failed checks", f"{name}: {check.detail}", check.repair
        elif check.state == "warning" and name == "approval":
            yield "doubts about approved files", check.detail, check.repair
        elif check.state == "warning" and name not in (*NAMED_ELSEWHERE, *HARMLESS):
            yield "warnings", f"{name}: {check.detail}", check.repair
    for problem in problems:
        if problem.rule != ValidationRule.POINTER_DEAD:  # of Concern.LINKS
            yield "problems of files", f"{problem.path}:{problem.line}: {problem.what}", problem.remedy
    for finding in findings:
        yield finding.part, f"{finding.place}: {finding.what}" if finding.place else finding.what, finding.step
