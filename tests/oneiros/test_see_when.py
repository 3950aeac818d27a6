"""What a model may be shown of projects and files, by the settings that close sessions to it."""

from pathlib import Path
from typing import Any

import pytest

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from memory_server.settings import PersonSettings
from oneiros.ingest.readings import see_when
from tests.crawler.builders import person, settings_in, write_transcript


@pytest.mark.parametrize(
    ("settings", "project", "files", "seen"),
    [
        ({}, "shop", ["~/src/shop/CLAUDE.md"], True),
        ({"muted_projects": ("shop",)}, "shop", [], False),
        ({"muted_projects": ("shop",)}, "Shop", [], False),
        ({"muted_projects": ("Shop",)}, "shop", [], False),
        ({"ingest_deny": ("/work/app",)}, "App", [], False),
        ({"muted_projects": ("shop",)}, "web", [], True),
        ({"ingest_deny": ("/home/ada/src/shop",)}, "shop", ["~/src/shop/CLAUDE.md"], False),
        ({"ingest_deny": ("~/src/shop",)}, "shop", ["~/src/shop/CLAUDE.md"], False),
        ({"ingest_deny": ("/work/secret/*",)}, "app", [], True),
        ({"ingest_deny": ("/work/ap*",)}, "app", [], False),
        ({"reader_projects": ("web",)}, "shop", [], False),
        ({"reader_projects": ("web",)}, "web", [], True),
        ({"reader_projects": ("web",)}, "", [], False),
    ],
)
def test_what_closes_sessions_closes_what_is_known_of_their_project(
    tmp_path: Path, settings: dict[str, Any], project: str, files: list[str], seen: bool
) -> None:
    write_transcript(tmp_path / "said", person(1, "The press runs at noon.", cwd="/work/app"))
    taken = settings_in(tmp_path / "memory")
    with Ingester(taken) as ingester:
        ingester.ingest([tmp_path / "said"])

    may_see = see_when(Archive(taken.archive), PersonSettings(**settings), Path("/home/ada"))

    assert may_see(project, files) is seen
