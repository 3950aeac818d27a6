"""Which files a line of a transcript passes on its way to an accepted hunk: few, and those that the page lists."""

import datetime as dt
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from crawler.archive.append import Ingester
from crawler.archive.store import Archive, SessionRecord
from crawler.facts import gather_facts
from crawler.quotes import Quote, SessionTurns, find_quote
from crawler.reading.record import Line, LineKind, Reading
from crawler.reading.rules import read_by_rules, trim_sentence
from crawler.transcripts.entry import Entry
from crawler.transcripts.turns import Turn
from dream.decisions.accept import Decisions
from dream.decisions.journal import Plan
from dream.evidence import Evidence
from dream.judge.gate import is_supported
from dream.records import Candidate, Hunk, State, Update
from dream.run import Bounds, Dream
from memory_server.redaction import Redactor
from memory_server.settings import PersonSettings
from tests.crawler.builders import assistant, person, settings_in, write_transcript
from tests.dream.builders import PERSON, git
from tests.memories import new_root, write_topic

ROOT = Path(__file__).parent.parent
HEADING = "## The files that a line of a transcript passes"
OURS = tuple(f"{ROOT}/{package}/" for package in ("oneiros", "parts", "memory_server", "crawler", "dream"))
KINDS = Entry | Turn | SessionTurns | Quote | Line | Candidate | Update | Hunk | Plan
NOW = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
RULE = "From now on always run the database migrations before deploying the billing service."
MOVED = "No, actually the mail relay listens on port 2526."
AGREED = "The billing service listens on port 8443."
RECORDS = {
    RULE: (person(1, RULE), assistant(2, "Understood.")),
    MOVED: (person(1, MOVED), assistant(2, "Understood.")),
    AGREED: (person(1, "Which port does billing use?"), assistant(2, AGREED), person(3, "Yes, exactly.")),
}


@contextmanager
def passed(words: str) -> Iterator[set[str]]:
    """The files of the project whose functions hold the line's words, or what is made of them, meanwhile."""
    found: set[str] = set()

    def holds(value: object) -> bool:
        if isinstance(value, str):
            return words in value
        return words.encode() in value if isinstance(value, bytes | bytearray) else isinstance(value, KINDS)

    def look(frame: FrameType, event: str, value: object) -> None:
        file = frame.f_code.co_filename
        is_ours = event in ("call", "return") and file.startswith(OURS)
        if is_ours and any(holds(one) for one in (value, *frame.f_locals.values())):
            found.add(Path(file).relative_to(ROOT).as_posix())

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("line", RECORDS)
def test_a_line_passes_no_file_but_those_that_are_listed(tmp_path: Path, line: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ {4}(\S+\.py)\b", page.partition(HEADING)[2].partition("\n## ")[0], re.MULTILINE)
    root = new_root(tmp_path / "memory")
    git(root.path, "init", "--quiet")
    write_topic(root, "mail", "# Mail relay\n\nThe mail relay listens on port 2525.\n")
    transcript = write_transcript(tmp_path / "transcripts", *RECORDS[line])
    archive = Archive(root.path / "sessions" / "archive")
    evidence = Evidence(archive)

    def read(record: SessionRecord) -> Reading:
        """By rules the rule; the two others as a model would."""
        turns, name = list(archive.turns(record.session_id)), record.session_id
        session = evidence.session(name)
        if line == RULE:
            return read_by_rules(session, turns, gather_facts(turns), "")
        quote = find_quote(session, "", line)
        assert quote is not None
        return Reading(
            name, "", "scripted", 1, session.project, lines=(Line(LineKind.FACT, trim_sentence(line), (quote,)),)
        )

    with passed(line[10:-1]) as found:
        with Ingester(settings_in(root.path)) as ingester:
            ingester.ingest([transcript])
        supports = partial(is_supported, evidence=evidence)
        decisions = Decisions(root, PersonSettings(), lambda: NOW, is_true=evidence.resolve, supports=supports)
        dream = Dream(decisions, archive, read, now=lambda: NOW, clock=time.monotonic, redactor=Redactor(()))
        dream.run(Bounds())
        [hunk] = [hunk for hunk in decisions.store.hunks() if line[20:-1] in hunk.text]
        done = decisions.accept(hunk.id, PERSON)

    assert done.hunk.state is State.ACCEPTED and done.commit
    assert {"crawler/archive/append.py", "dream/judge/gate.py", "dream/decisions/journal.py"} <= found <= {*listed}
    assert [file for file in listed if not (ROOT / file).is_file()] == []
