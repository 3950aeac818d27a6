"""What training may read: approved statements alone, as the trainer takes them."""

import json
from pathlib import Path
from typing import Any

from dream.decisions.accept import Decisions
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from parts.taking_over.export import export_approved
from tests.dream.builders import PERSON, decisions_on, new_topic, proposed, quote, replacing
from tests.memories import write_session, write_topic
from trainer.memory import EXPORT_KEYS, read_approved

MAIL = "# Mail\n\n## Relay\n\n- The relay listens on port 2525.\n- It runs on the old server.\n  It hums.\n"


def exported(decisions: Decisions, tmp_path: Path) -> list[dict[str, Any]]:
    file = tmp_path / "approved.jsonl"
    export_approved(decisions, file, Redactor(("hums",)))
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_line_an_approved_statement_with_what_lost_to_it(memory: Memory, tmp_path: Path) -> None:
    write_topic(memory, "mail", MAIL, id="mail", type="semantic", created="2026-01-01", modified="2026-01-05")
    decisions = decisions_on(memory.root)
    accepted, refused = proposed(
        decisions,
        replacing(memory.root, "The relay listens on port 2526.", "2525", number=1),
        new_topic("The relay was sold.", "mail", quotes=(quote("sold", 1, first=40, end=44),)),
    )
    decisions.accept(accepted.id, PERSON, text="The relay listens on port 2526 since March.")
    decisions.reject(refused.id, PERSON, "no")

    relay, server = exported(decisions, tmp_path)

    assert relay.keys() == EXPORT_KEYS and relay["topic"] == "mail" and relay["heading"] == "Relay"
    assert relay["text"] == "The relay listens on port 2526 since March."
    assert relay["superseded"] == ["The relay listens on port 2525."]
    assert relay["rejected"] == ["The relay listens on port 2526.", "The relay was sold."]
    assert relay["sources"] == ["11111111-1111-4111-8111-111111111111/00000001-0000-4000-8000-000000000001"]
    assert relay["date"] == "2026-03-02"
    assert server["text"].startswith("It runs on the old server. It") and "hums" not in server["text"]


def test_what_nobody_approved_is_not_exported(memory: Memory, tmp_path: Path) -> None:
    write_topic(memory, "mail", MAIL)
    write_topic(memory, "cats", "# Cats\n\nThe cat is grey.\n")
    write_session(memory, "2026-02-01-session-11111111", "The dog barks.")
    decisions = decisions_on(memory.root)
    proposed(decisions, new_topic("Backups run at 03:00.", "backups"))
    decisions.find_unexplained()
    write_topic(memory, "mail", MAIL + "- Somebody wrote this.\n")

    assert [row["text"] for row in exported(decisions, tmp_path)] == ["The cat is grey."]


def test_the_trainer_reads_exactly_this_file(memory: Memory, tmp_path: Path) -> None:
    write_topic(memory, "mail", MAIL)
    rows = exported(decisions_on(memory.root), tmp_path)

    approved = list(read_approved(tmp_path / "approved.jsonl"))

    assert [(one.source, one.heading, one.text) for one in approved] == [
        (row["topic"], row["heading"], row["text"]) for row in rows
    ]
