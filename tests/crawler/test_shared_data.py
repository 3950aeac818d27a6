"""The reader against genuine transcripts, where the data lies beside the checkout."""

from pathlib import Path

import pytest

from benchmarks.intake import Figures, compare_prompts, refuse_negatives
from crawler.archive.append import Ingester
from crawler.compress.run import compress_session
from crawler.reading.record import Readings
from tests.crawler.builders import settings_in

DATA = Path(__file__).parents[3] / "shared" / "data" / "transcripts"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"no transcripts at {DATA}")


def test_every_listed_prompt_is_found_and_none_is_invented() -> None:
    figures = Figures()

    compare_prompts(DATA, figures)

    assert (figures.crashes, figures.files_that_differ) == (0, [])
    assert figures.prompts_found == figures.prompts_in_manifest == 638
    assert figures.bad_lines_reported == figures.bad_lines_in_manifest


def test_every_file_of_another_tool_is_refused() -> None:
    figures = Figures()

    refuse_negatives(DATA, figures)

    assert figures.negatives_refused == figures.negatives == 36


def test_every_line_of_a_genuine_digest_leads_to_its_entries(tmp_path: Path) -> None:
    files = sorted((DATA / "cipher-box").glob("*.xz"), key=lambda path: path.stat().st_size)[:6]
    with Ingester(settings_in(tmp_path)) as ingester:
        ingester.ingest(files)
        for session_id in ingester.archive.session_ids():
            digest = compress_session(ingester.archive, session_id, Readings(tmp_path / "readings"))
            named = [e for section in digest.sections for s in section.statements for e in s.entries] if digest else []
            assert all(ingester.archive.entry(session_id, entry).parts for entry in named)
