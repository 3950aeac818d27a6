"""A person makes a skill of what they do again and again, and takes it away again."""

import subprocess
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from dream.changes import Event
from dream.decisions.chain import Chain
from memory_server.root.paths import MemoryRoot
from tests.crawler.builders import settings_in, write_transcript
from tests.parts.taking_over.skill_house import STEPS, did
from tests.system.at_terminal import WORD, Seen, at_terminal
from tests.system.house import House
from tests.system.test_consent import SIGN, keyed

__all__ = ["keyed"]


@pytest.fixture
def app(house: House) -> Path:
    """A repository in which two sessions did the same, and a draft of a skill."""
    return repository_of(house)


def repository_of(house: House) -> Path:
    for number in (1, 2):
        records = did(number, *STEPS)
        write_transcript(house.folder / "said", *records, session=records[0]["sessionId"])
    with Ingester(settings_in(house.root)) as ingester:
        ingester.ingest([house.folder / "said"])
    folder = house.folder / "app"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    assert "1. `make fmt`" in house.command("skills", "draft", draft_of(house)).stdout
    return folder


def draft_of(house: House) -> str:
    return house.command("skills").stdout.split()[0]


def decide(house: House, folder: Path, *arguments: str, **more: object) -> Seen:
    return at_terminal(house, [WORD], "skills", *arguments, folder=folder, **more)  # type: ignore[arg-type]


def skill_in(folder: Path) -> Path:
    return folder / ".claude" / "skills" / "fmt-lint-test" / "SKILL.md"


def test_a_skill_is_shown_whole_installed_and_taken_away_to_the_last_byte(house: House, app: Path) -> None:
    (app / ".claude").mkdir()

    seen = decide(house, app, "accept", draft_of(house))

    text = skill_in(app).read_text(encoding="utf-8")
    assert seen.code == 0 and not seen.left, seen
    assert all(line in seen.screen for line in text.splitlines() if len(line) < 100)
    assert "It allows without asking: Bash(make fmt), Bash(make lint), Bash(make test)" in seen.screen
    twice = decide(house, app, "accept", draft_of(house))
    assert twice.code == 2 and "installed already" in twice.screen, twice
    gone = decide(house, app, "revert", "fmt-lint-test")
    assert gone.code == 0 and list((app / ".claude").iterdir()) == [], gone
    events = [entry.event for entry in Chain(MemoryRoot(house.root, house.folder / "states"), "").entries]
    assert events[-2:] == [Event.INSTALLED, Event.REVERTED]
    assert decide(house, app, "accept", draft_of(house)).code == 0 and skill_in(app).exists()


def test_a_skill_of_the_same_name_stays_as_it_is(house: House, app: Path) -> None:
    skill_in(app).parent.parent.mkdir(parents=True)
    (skill_in(app).parent.parent / "FMT-lint-test").mkdir()

    seen = decide(house, app, "accept", draft_of(house))

    assert seen.code == 2 and "there is a skill of this name" in seen.screen and not skill_in(app).exists(), seen


def test_a_skill_that_the_person_changed_stays(house: House, app: Path) -> None:
    decide(house, app, "accept", draft_of(house))
    skill_in(app).write_text("mine", encoding="utf-8")

    seen = decide(house, app, "revert", draft_of(house))

    assert seen.code == 1 and "changed since it was installed" in seen.screen, seen
    assert skill_in(app).read_text(encoding="utf-8") == "mine"


def test_a_skill_for_all_projects_lies_in_the_home_and_elsewhere_it_needs_that_word(house: House, app: Path) -> None:
    elsewhere = decide(house, house.folder, "accept", draft_of(house))
    mine = decide(house, house.folder, "accept", draft_of(house), "--mine")

    assert elsewhere.code == 2 and "you do not stand in the repository of app" in elsewhere.screen, elsewhere
    assert mine.code == 0 and skill_in(house.folder).exists() and not skill_in(app).exists(), mine


def test_a_link_that_leads_out_of_the_repository_is_not_followed(house: House, app: Path) -> None:
    (house.folder / "target").mkdir()
    (app / ".claude").symlink_to(house.folder / "target")

    seen = decide(house, app, "accept", draft_of(house))

    assert seen.code == 2 and "leads out of its repository" in seen.screen, seen
    assert list((house.folder / "target").iterdir()) == []


def test_the_assistant_installs_nothing(house: House, app: Path) -> None:
    seen = decide(house, app, "accept", draft_of(house), variables={"CLAUDECODE": "1"})
    without = house.command("skills", "accept", draft_of(house), "--mine", check=False)

    assert seen.code == 2 and "the assistant cannot accept" in seen.screen, seen
    assert without.returncode == 2 and not skill_in(app).exists() and not skill_in(house.folder).exists()


def test_a_draft_that_somebody_rewrote_is_not_what_is_installed(house: House, app: Path) -> None:
    [file] = (house.root / "proposals" / "skills").glob("*/SKILL.md")
    file.write_text(file.read_text(encoding="utf-8").replace("make lint", "make evil"), encoding="utf-8")

    seen = decide(house, app, "accept", file.parent.name)

    assert seen.code == 0 and "make evil" not in seen.screen + skill_in(app).read_text(encoding="utf-8"), seen


def test_with_a_key_a_skill_is_installed_by_a_yes_that_is_signed(keyed: House) -> None:
    folder, asked = repository_of(keyed), r"Do this \[y,n\]\? "

    refused = at_terminal(keyed, [(asked, "n\n")], "skills", "accept", draft_of(keyed), folder=folder)
    taken = at_terminal(keyed, [(asked, "y\n"), SIGN], "skills", "accept", draft_of(keyed), folder=folder)
    gone = at_terminal(keyed, [(asked, "y\n"), SIGN], "skills", "revert", "fmt-lint-test", folder=folder)

    assert refused.code == 2 and taken.code == 0 and not taken.left, (refused, taken)
    assert gone.code == 0 and not (folder / ".claude").exists(), gone


def test_what_the_assistant_notes_is_marked_as_its_own(house: House) -> None:
    session = "77777777-1111-4111-8111-111111111111"
    payload = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session}

    done = at_terminal(house, [], "episode", "The tests take four minutes.", variables=payload)

    [file] = (house.root / "episodes").rglob("*.md")
    text = file.read_text(encoding="utf-8")
    assert done.code == 0 and "title: 'The assistant observed: The tests take four minutes.'" in text, done
    assert f"observed_in: {session}" in text and "- observation" in text


@pytest.mark.usefixtures("app")
def test_habits_are_listed_of_one_project_where_it_is_named(house: House) -> None:
    [project] = {line.split()[-1] for line in house.command("skills").stdout.splitlines() if " sessions, last " in line}

    assert "make fmt" in house.command("skills", "--project", project.upper()).stdout
    assert house.command("skills", "--project", "another", check=False).returncode == 1
