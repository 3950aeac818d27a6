import json
from pathlib import Path
from typing import Any

import pytest

from crawler.transcripts.turns import Role
from tests.parts.agents.builders import conversations, prompts, turns_of


def chat(tmp_path: Path, name: str, content: Any) -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "User: How do I pin it?\nNote: soon.\n\nAssistant: With a lock file.\nUser: Thanks.",
        "## You\nHow do I pin it?\nNote: soon.\n\n## ChatGPT\n### Steps\nWith a lock file.\n## You\nThanks.",
        "**User**\nHow do I pin it?\nNote: soon.\n\n**Assistant**\n**Steps**\nWith a lock file.\n\n**User**\nThanks.",
        "### 🧑 User\nHow do I pin it?\nNote: soon.\n### 🤖 Assistant\nWith a lock file.\n### 🧑 User\nThanks.",
        "# Pinning\n\n**Human:** How do I pin it?\nNote: soon.\n\n**Claude:** With a lock file.\n\n**Human:** Thanks.",
        "[10:02] Me: How do I pin it?\nNote: soon.\n[10:03] Claude: With a lock file.\n[10:04] Me: Thanks.",
    ],
)
def test_text_with_speaker_lines(tmp_path: Path, text: str) -> None:
    assert prompts("chat", chat(tmp_path, "talk.md", text)) == ["How do I pin it?\nNote: soon.", "Thanks."]


def test_a_speaker_inside_code_says_nothing(tmp_path: Path) -> None:
    text = "User: Why?\n```\nAssistant: no\n```\nAssistant: Because."

    assert prompts("chat", chat(tmp_path, "talk.md", text)) == ["Why?\n```\nAssistant: no\n```"]


def test_who_is_not_known_as_the_person_is_somebody_else(tmp_path: Path) -> None:
    path = chat(tmp_path, "talk.txt", "Alice: Deploy on Friday?\nBob: Never.\nAlice: Good.")

    assert prompts("chat", path) == []
    assert prompts("chat", path, "Alice") == ["Deploy on Friday?", "Good."]
    [talk], _ = conversations("chat", path, "Alice")
    assert [turn.text for turn in turns_of(talk) if turn.role is Role.SUB_AGENT] == ["Bob: Never."]


@pytest.mark.parametrize("as_lines", [True, False])
def test_messages_in_json(tmp_path: Path, as_lines: bool) -> None:
    messages = [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": [{"type": "text", "text": "Which port?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "grep", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "2525"},
        {"role": "assistant", "content": "2525."},
        {"role": "user", "name": "Bob", "content": "No, 25."},
    ]
    lines = "".join(json.dumps(one) + "\n" for one in messages)
    path = chat(tmp_path, "talk.jsonl", lines) if as_lines else chat(tmp_path, "talk.json", {"messages": messages})

    assert prompts("chat", path) == ["Which port?"]
    [talk], _ = conversations("chat", path)
    assert [turn.tool for turn in turns_of(talk) if turn.tool] == ["grep"]


def node(name: str, parent: str | None, role: str, text: str, **about: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = {"id": name, "author": {"role": role}, "content": content, "create_time": 1.7e9, "metadata": about}
    return {"id": name, "parent": parent, "message": message}


def test_an_export_of_chatgpt_is_read_along_the_branch_that_is_shown(tmp_path: Path) -> None:
    nodes = [
        {"id": "root", "parent": None, "message": None},
        node("hidden", "root", "user", "My instructions", is_visually_hidden_from_conversation=True),
        node("asked", "hidden", "user", "First wording."),
        node("left", "asked", "assistant", "Left behind."),
        node("again", "hidden", "user", "Second wording."),
        node("answer", "again", "assistant", "Answer."),
    ]
    export = {"title": "Words", "mapping": {one["id"]: one for one in nodes}, "current_node": "answer"}
    path = chat(tmp_path, "conversations.json", [export | {"conversation_id": "c1"}, {"unrelated": 1}])

    [talk], found = conversations("chat", path)

    del export["current_node"]
    assert prompts("chat", chat(tmp_path, "without.json", [export])) == ["Second wording."]
    assert [turn.text for turn in turns_of(talk)] == ["Words", "Second wording.", "Answer."]
    assert (talk.key, found.unknown) == ("c1", {"value without messages": 1})


def test_an_export_of_claude(tmp_path: Path) -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Two."}]
    export = {
        "uuid": "11111111-1111-4111-8111-111111111111",
        "name": "Counting",
        "chat_messages": [
            {"uuid": "u1", "sender": "human", "text": "One?", "created_at": "2026-03-01T10:00:00Z"},
            {"uuid": "u2", "sender": "assistant", "text": "", "content": content, "created_at": "2026-03-01T10:00:01Z"},
        ],
    }

    [talk], _ = conversations("chat", chat(tmp_path, "conversations.json", [export]))

    assert [turn.text for turn in turns_of(talk)] == ["Counting", "One?", "Two."]


def test_words_without_a_time_keep_their_ids(tmp_path: Path) -> None:
    path = chat(tmp_path, "talk.md", "User: One\nAssistant: Two")
    before = [entry.id for entry in conversations("chat", path)[0][0].entries]

    path.write_text("User: One\nAssistant: Two\nUser: One", encoding="utf-8")
    after = [entry.id for entry in conversations("chat", path)[0][0].entries]

    assert after[: len(before)] == before and len(set(after)) == len(before) + 1
