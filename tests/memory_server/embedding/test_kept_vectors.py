"""What a benchmark embedded once is there for its next run."""

from pathlib import Path

from benchmarks.answers import open_cached_memory
from tests.crawler.builders import OTHER_SESSION, assistant, person, write_transcript


def test_two_sets_of_one_cache_keep_their_vectors(tmp_path: Path) -> None:
    cache, first, second = (tmp_path / name for name in ("cache", "first", "second"))
    write_transcript(first, person(1, "Which port?"), assistant(2, "The relay listens on port 2525."))
    records = person(1, "Which rack?"), assistant(2, "The relay is in rack nine.")
    write_transcript(second, *records, session=OTHER_SESSION)

    with open_cached_memory([first], cache), open_cached_memory([second], cache) as memory:
        kept = memory.indices.cache.folder / "vectors.f32"
    embedded = kept.read_bytes()

    with open_cached_memory([second], cache):
        assert kept.read_bytes() == embedded
