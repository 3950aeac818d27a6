"""The chat put together from settings: its back end, and trainers of which one is down."""

from pathlib import Path

import pytest

from memory_server.errors import UsageError
from oneiros.environment import Environment
from parts.chat.chatting import build_back_end
from parts.chat.records import BackEndFailed, ChatPrompt
from tests.memories import new_root
from tests.parts.chat.services import openai_events, streaming

PROMPT = ChatPrompt("rules", "", (), (), "Which port?", 100)
CLOSED = "http://127.0.0.1:9"


def environment(tmp_path: Path, settings: str, **variables: str) -> Environment:
    file = tmp_path / ".config" / "oneiros" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings, encoding="utf-8")
    return Environment(variables, tmp_path, tmp_path)


def test_without_a_setting_there_is_no_back_end(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model is set"):
        build_back_end(environment(tmp_path, ""), new_root(tmp_path / "m"))


@pytest.mark.parametrize("name", ["claude-cli", "anthropic", "openai-url", "trainer"])
def test_each_name_of_the_setting_is_a_back_end(name: str, tmp_path: Path) -> None:
    found = build_back_end(environment(tmp_path, f'chat_backend = "{name}"'), new_root(tmp_path / "m"))

    assert found.name.startswith(name) and found.cites == (name == "anthropic")


def test_the_next_trainer_answers_where_the_first_is_down(tmp_path: Path) -> None:
    with streaming(openai_events("2525", ".")) as service:
        urls = f"down={CLOSED},up={service.url}"
        settings = environment(tmp_path, 'chat_backend = "trainer"', ONEIROS_TRAINER_URLS=urls)
        pieces = list(build_back_end(settings, new_root(tmp_path / "m")).stream(PROMPT))

    assert pieces == ["2525", "."]


def test_trainers_that_are_all_down_are_named(tmp_path: Path) -> None:
    settings = environment(tmp_path, 'chat_backend = "trainer"', ONEIROS_TRAINER_URLS=f"down={CLOSED}")
    with pytest.raises(BackEndFailed, match=r"trainer: no trainer answered .down: "):
        list(build_back_end(settings, new_root(tmp_path / "m")).stream(PROMPT))
