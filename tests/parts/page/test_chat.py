"""The chat in a real browser: streamed, checked, and nothing of it runs."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from oneiros.light.endpoint import daemon_state
from tests.parts.chat.services import openai_events, streaming
from tests.parts.page.browser import link, secret_of
from tests.parts.page.filled import HOSTILE
from tests.system.house import House

pytestmark = pytest.mark.page
HELD = """() => {
  const real = window.fetch;
  window.fetch = async (...told) => {
    const answer = await real(...told);
    const body = answer.body.pipeThrough(new TransformStream({flush: () => new Promise(() => {})}));
    return new Response(body, {status: answer.status, headers: answer.headers});
  };
}"""  # what is fetched from here on comes, and its end never does
QUESTION = "Which port does the relay listen on?"
ANSWER = f'It is **2525** [1: "listens on port 2525"], and pink [1: "pink relay"]. {HOSTILE}'


@pytest.fixture(scope="module")
def talking() -> Iterator[House]:
    """A house with a served memory of its own, whose settings a test may change."""
    with contextlib.closing(House()) as house:
        house.warm_up()
        yield house


@pytest.fixture
def window(chrome: Any, talking: House) -> Iterator[Any]:
    context = chrome.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    context.add_init_script(secret_of(talking, link(talking, "chat")).script)
    page = context.new_page()
    page.goto(f"http://localhost:{daemon_state(talking.state)['port']}/chat")
    page.wait_for_selector("#question")
    yield page
    context.close()


def ask(page: Any, question: str = QUESTION) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def test_an_answer_comes_with_its_citations_and_nothing_in_it_runs(window: Any, talking: House) -> None:
    with streaming(openai_events(*(ANSWER[at : at + 7] for at in range(0, len(ANSWER), 7)))) as service:
        talking.settle(chat_backend="openai-url", chat_url=service.url)
        ask(window)
        window.wait_for_selector(".cited")
        html = window.inner_text("article")
        assert "topics/mail.md:3 approved topic\nlistens on port 2525" in html.replace("“", "").replace(
            "”", ""
        ).replace('"', "")
        assert "not verified looked for in topics/mail.md, and not found" in html
        assert window.inner_text("article .answer strong") == "2525" and "【" not in html
        assert window.locator("article .cite").all_inner_texts() == ["1", "2?"]
        assert "<script>" in html and "\\u001b[31mred" in html
        assert window.evaluate("window.executed || 0") == 0
        assert window.locator("article script, article img, article iframe").count() == 0
        assert "900 tokens in, 500 of them cached" in html
        window.wait_for_selector("[data-leaves]", state="hidden")  # until the stream ends, nothing more is asked
        ask(window, "And the cat?")
        window.wait_for_selector("article >> nth=1 >> .cited")
    assert [one["content"] for one in service.asked[1]["messages"][1:2]] == [QUESTION]

    window.reload()
    window.wait_for_selector(".cited")
    assert window.locator(".cited").count() == 2
    window.press("#question", "Shift+Enter")
    assert window.input_value("#question") == "\n"
    window.click("a.cite >> nth=0")
    window.wait_for_selector(".topic .row.here")


def test_a_back_end_that_is_off_is_named(window: Any, talking: House) -> None:
    talking.settle()
    window.reload()
    window.wait_for_selector("text=oneiros config chat_backend claude-cli")  # before anything is asked
    ask(window)
    window.wait_for_selector("article .warning")

    assert "no model is set that could answer" in window.inner_text("article .warning")


def test_what_nobody_knows_is_said_before_a_model_is_asked(window: Any, talking: House) -> None:
    with streaming(openai_events("From elsewhere.")) as service:
        talking.settle(chat_backend="openai-url", chat_url=service.url)
        ask(window, "project:nosuch relay")
        window.wait_for_selector("text=Your memory does not know.")
        assert service.asked == []
        window.click("text=Ask the model anyway")
        window.wait_for_selector("text=From elsewhere.")


def test_a_choice_may_be_taken_before_the_stream_that_offered_it_has_ended(window: Any, talking: House) -> None:
    with streaming(openai_events("From elsewhere.")) as service:
        talking.settle(chat_backend="openai-url", chat_url=service.url)
        window.evaluate(HELD)
        ask(window, "project:nosuch relay")
        window.click("text=Ask the model anyway")
        window.wait_for_selector("text=From elsewhere.")
    assert "From elsewhere." in window.inner_text("article") and len(service.asked) == 1


def test_a_reader_who_stops_ends_the_request(window: Any, talking: House) -> None:
    with streaming(openai_events("word ", whole=False), endless=True) as service:
        talking.settle(chat_backend="openai-url", chat_url=service.url)
        assert not window.is_visible("[data-leaves]")  # nothing is under way
        ask(window)
        window.wait_for_selector("text=word word")
        window.click("[data-leaves]")
        assert service.left.wait(30)
        window.wait_for_selector("text=what came is kept")
        window.wait_for_selector("[data-leaves]", state="hidden")
