"""A file is cut into the statements that a topic would hold, each with its line and headings."""

import string

from hypothesis import given
from hypothesis import strategies as st

from dream.evidence import holds
from parts.taking_over.cutting import cut, cut_decision

FILE = """\
---
title: ignored
---
# CLAUDE.md

This file provides guidance to Claude Code when working with this repository.

## Testing

Run the tests before a push. They take a minute.
Use pytest, never unittest.

- Save only finished plans. Do not write drafts.
- Order of the checks:
    1. Run unit tests with `pnpm test`.
    2. Run end-to-end tests when
       routing changes.
- [decision] Ports are fixed by hand #network #ops (mail)
- [ ] Rename the staging host

```bash
make tests
```

| a | b |
|---|---|
| x | y |

> Somebody said this once.

<!-- Never read this aloud. -->

See `docs/x.md`.

Why is that?
"""


def test_items_and_sentences_are_statements_with_line_and_headings() -> None:
    found = [(one.line, one.text, one.headings[1:]) for one in cut(FILE).passages]

    assert found == [
        (10, "Run the tests before a push. They take a minute. Use pytest, never unittest.", ("Testing",)),
        (13, "Save only finished plans. Do not write drafts.", ("Testing",)),
        (15, "Run unit tests with `pnpm test`.", ("Testing", "Order of the checks")),
        (16, "Run end-to-end tests when routing changes.", ("Testing", "Order of the checks")),
        (18, "Ports are fixed by hand", ("Testing",)),
        (19, "Rename the staging host", ("Testing",)),
    ]


def test_what_is_no_statement_is_counted() -> None:
    assert cut(FILE).left_out == 7  # guidance, code, table, quotation, comment, pointer, question
    assert cut("").passages == [] and cut("---\nbroken: [\n---\n- Use uv for installs.\n").passages != []


def test_a_single_title_is_no_heading_and_several_are() -> None:
    assert [one.headings for one in cut("# App\n\n- Use uv for installs.\n").passages] == [()]
    several = cut("# Install\n\n- Use uv for installs.\n\n# Tests\n\n- Use pytest for tests.\n").passages
    assert [one.headings for one in several] == [("Install",), ("Tests",)]


def test_of_a_record_only_the_decision_is_taken_and_nothing_of_one_given_up() -> None:
    record = (
        "# 7. Queue\n\n## Status\n\n{}\n\n## Context\n\nJobs got lost twice.\n\n## Decision\n\nJobs go through NATS.\n"
    )

    accepted = cut_decision(record.format("Accepted"))

    assert [(one.text, one.headings) for one in accepted.passages] == [("Jobs go through NATS.", ("Decisions",))]
    assert cut_decision(record.format("Superseded by 9")).passages == []


@given(st.text(alphabet=string.ascii_letters + "-*#`|>[] .:\n0123456789", max_size=400))
def test_every_statement_stands_in_the_file_on_its_line(text: str) -> None:
    lines = text.split("\n")

    for one in cut(text).passages:
        assert 1 <= one.line <= len(lines)
        assert one.text.split()[0] in lines[one.line - 1]
        assert "\n" not in one.text and holds(text, one.text)


def test_a_line_that_denies_the_items_below_it_or_says_when_they_hold_is_part_of_each() -> None:
    text = """\
**Do NOT:**
- Parse settings in other packages

**When on Windows:**

- Use WinFSP
  - Mount it as a drive

Key files:
- `root.go` sets flags

**CI fails without this:**
"""

    found = [(one.lead and (one.lead.line, one.lead.text), one.text) for one in cut(text).passages]

    assert found == [
        ((1, "**Do NOT:**"), "Parse settings in other packages"),
        ((4, "**When on Windows:**"), "Use WinFSP"),
        ((4, "**When on Windows:**"), "Mount it as a drive"),
        (None, "`root.go` sets flags"),
    ]


def test_what_is_forbidden_stays_with_what_is_wanted_instead() -> None:
    text = "- Never push to main; use a branch.\n\nDo not use npm; use pnpm instead.\n"

    assert [one.text for one in cut(text).passages] == [
        "Never push to main; use a branch.",
        "Do not use npm; use pnpm instead.",
    ]
