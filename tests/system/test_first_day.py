"""The first day: a home with conversations, and one command that brings them in."""

from tests.crawler.builders import assistant, person, write_transcript
from tests.system.house import House, wait_until


def test_init_all_runs_what_it_names_while_the_daemon_indexes_and_then_nothing_waits(house: House) -> None:
    text = "From now on always use pnpm instead of npm in this repository."
    write_transcript(house.folder / ".claude" / "projects" / "-work-app", person(1, text), assistant(2, "Noted."))

    house.settle(trusted_roots=[str(house.root)])  # what is there already would else need a person

    done = house.command("init", "--all", check=False)
    output = done.stderr
    assert done.returncode == 0, output
    ran = [line for line in output.splitlines() if line.startswith("$ ")]
    assert ran == ["$ oneiros ingest --no-wait", "$ oneiros import", "$ oneiros dream"]
    assert "pnpm" in house.command("review", "--list").stdout
    wait_until(lambda: "pnpm" in house.command("recall", "which package manager").stdout)
    again = house.command("init", "--all", check=False)
    assert again.returncode == 0, again.stderr
    assert "\nNo transcript of this machine waits for this memory.\n" in again.stderr
