"""One line of `oneiros doctor`: a thing that is as it should be, or is not, and what mends it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is as it should be, or is not."""

    state: str  # ok, warning, failed
    detail: str
    repair: str = ""


def ok(detail: str) -> Check:
    return Check("ok", detail)


def warning(detail: str, repair: str) -> Check:
    return Check("warning", detail, repair)


def make_failure(detail: str, repair: str) -> Check:
    return Check("failed", detail, repair)
