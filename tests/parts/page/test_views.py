"""Each view as a person uses it, in a real browser."""

import contextlib
import json
from typing import Any

import pytest

from parts.page.topics import PAGE
from tests.dream.builders import PERSON, archive_statements, decisions_on, extending, new_topic, proposed, replacing
from tests.memories import root_at, write_topic
from tests.parts.page.browser import AXE, link
from tests.parts.page.conftest import OpenView
from tests.parts.page.filled import SESSION
from tests.system.at_terminal import WORD, at_terminal
from tests.system.house import House

pytestmark = pytest.mark.page
VIEWS = ("today", "search", "chat", "topics", "sessions", "review", "notes", "settings", "trainers")
SEEN = (
    *(f"/{view}" for view in VIEWS),
    *("/topics/cats", "/topics/cats?show=history", "/topics/mail?show=source", "/topics/mail?show=history"),
    *("/search?q=mail+relay&arms=1", "/search?q=how+are+filtered+questions+answered"),
    *(f"/sessions/{SESSION}", f"/sessions/{SESSION}?depth=raw", f"/sessions/{SESSION}?depth=raw&only=mine"),
)
WIDTHS = (360, 768, 1280, 1920)


def test_what_waits_is_decided_on_today(at: OpenView) -> None:
    page = at("/today")
    page.wait_for_selector(".first .statement")
    first = page.inner_text(".first .statement")
    page.click(".first >> text=Yes")

    page.wait_for_function("first => document.querySelector('.first .statement')?.innerText !== first", arg=first)
    assert "chosen, nothing written yet" in page.inner_text(".first")
    page.click(".first >> text=Sign in the review")
    page.wait_for_selector(".decide")
    page.keyboard.press("u")
    page.wait_for_selector(".decide", state="detached")


def test_a_link_from_the_terminal_opens_a_view_once(chrome: Any, filled: House) -> None:
    address = link(filled, "topics")
    page = chrome.new_context().new_page()
    page.goto(address)
    page.wait_for_selector("text=Search and query syntax")
    assert "#" not in page.url and page.context.cookies() == []

    page.reload()
    page.wait_for_selector("text=Search and query syntax")  # the window keeps its secret

    other = chrome.new_context().new_page()
    other.goto(address)
    other.wait_for_selector("h1")
    assert "wrong, used or too old" in other.inner_text("#view")
    page.context.close()
    other.context.close()


def test_a_search_by_keys_alone(at: OpenView) -> None:
    page = at("/today")
    page.keyboard.press("/")
    page.keyboard.type("how are filtered questions answered")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")

    assert "q=how+are+filtered" in page.url
    assert "decides" in page.inner_text(".hit >> nth=0") and page.locator(".hit mark").count() > 0
    page.keyboard.press("Tab")  # out of the box
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".topic .row.here")
    page.go_back()
    page.wait_for_selector(".hit")


def test_filters_are_chips_of_the_query_and_of_the_address(at: OpenView) -> None:
    page = at("/search?q=relay")
    page.click("text=Filter")
    page.select_option("#f-layer", "topic")
    page.click("text=Add")
    page.wait_for_selector(".chip")

    assert page.inner_text(".chip").startswith("layer:topic") and "layer%3Atopic" in page.url
    assert page.input_value("#q") == "relay layer:topic"
    page.click(".chip")
    page.wait_for_selector(".chip", state="detached")
    assert page.input_value("#q") == "relay"


def test_where_nothing_is_found_the_other_search_is_named(at: OpenView) -> None:
    page = at("/search?q=relay+elephant&how=search_exact")

    assert "other search finds something" in page.inner_text("#view")


def test_both_searches_stand_side_by_side(at: OpenView) -> None:
    page = at("/search?q=relay")
    page.click("text=Both searches side by side")
    page.wait_for_selector(".sides")

    assert page.locator(".sides > div > h2").all_inner_texts() == ["As written", "By meaning"]


def test_a_topic_shows_whose_words_stand_behind_a_line_and_leads_to_them(at: OpenView) -> None:
    page = at("/topics/cats")
    assert (
        "You, 2026-03-01 unsigned" in page.inner_text("aside summary") and page.locator(".whole:visible").count() == 0
    )
    page.focus(".row:has(aside)")
    assert "since the oven is cold" in page.inner_text(".whole")
    page.hover(".row:has(aside)")
    page.click("text=Look it up in the archive")
    page.wait_for_selector("aside .said")

    page.click(".whole blockquote + p a")
    page.wait_for_selector(".turns [data-here]")

    assert "since the oven is cold" in page.inner_text(".turns [data-here]")


def test_a_statement_is_moved_by_keys_from_its_topic_to_another_through_the_review(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        root, text = house.memory_root, "The relay never sleeps."
        archive_statements(root, text)
        decisions = decisions_on(root)
        decisions.accept(proposed(decisions, extending(root, text, "grey cat", name="cats"))[0].id, PERSON)
        house.serve()
        page = chrome.new_context().new_page()
        page.goto(link(house, "topics"))
        page.click("#view a[href$='cats.md']")
        page.focus(".row:has-text('never sleeps')")

        page.keyboard.press("t")
        page.wait_for_selector("select:focus")
        assert page.locator("select:focus option").all_inner_texts() == ["mail"]  # not where it stands already
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate("axe.run().then(found => found.violations.map(one => one.id))") == []
        refusal = {"error": {"what": "it stands there already"}}
        page.route("**/page/move/**", lambda route: route.fulfill(status=400, json=refusal))
        steps = page.evaluate("history.length")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("text=it stands there already")
        assert page.evaluate("history.length") == steps  # nothing was opened that Back would leave
        page.unroute("**/page/move/**")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#statement:has-text('never sleeps')")

        assert [one.split() for one in page.locator(".diff").all_inner_texts()] == [
            ["+", "-", "The", "relay", "never", "sleeps."],
            ["-", "-", "The", "relay", "never", "sleeps."],
        ]
        assert text in (house.root / "topics" / "cats.md").read_text(encoding="utf-8")
        page.keyboard.press("a")
        page.wait_for_selector("text=You have chosen for all of them")
        page.go_back()
        page.wait_for_selector("#view h1:has-text('Cats')")
        page.focus(".row:has-text('never sleeps')")
        assert "It waits to move: topics/mail.md" in page.inner_text(".whole")

        seen = at_terminal(house, [(r"Decide these 1 as shown \[y,n,\?\]\? ", "y\n"), WORD], "review", "--page")
        assert "1 accepted, 0 rejected" in seen.screen, seen
        assert text not in (house.root / "topics" / "cats.md").read_text(encoding="utf-8")
        assert text in (house.root / "topics" / "mail.md").read_text(encoding="utf-8")
        page.context.close()


def test_a_topic_in_its_source_and_its_history(at: OpenView) -> None:
    page = at("/topics/cats")
    page.keyboard.press("s")
    page.wait_for_selector(".source")
    page.click("text=As it reads")
    page.wait_for_selector(".topic")
    page.click("text=History")
    page.wait_for_selector(".through:has-text('2 of 2') .diff .comes:has-text('oven is cold')")
    page.focus(".through [type=range]")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".through:has-text('1 of 2')")
    page.keyboard.press("j")
    page.wait_for_selector(".through:has-text('2 of 2')")
    page.click(".versions summary >> nth=0")
    page.wait_for_selector(".versions .diff .comes")

    assert "oven is cold" in page.inner_text(".versions .diff")
    page.click("text=at the end of that day")
    page.wait_for_selector("text=As it was at the end of")


def test_a_dead_link_is_marked(at: OpenView, filled: House) -> None:
    file = filled.write("links", "# Links\n\n[gone](nowhere.md), [there](mail.md), [out](https://example.org/)\n")
    page = at("/topics/links")

    assert page.inner_text(".dead") == "gone" and page.locator(".prose a[href='/topics/topics/mail.md']").count() == 1
    assert page.get_attribute(".prose a[href^=https]", "rel") == "noopener noreferrer"
    file.unlink()  # the review would ask about it


def test_a_session_at_its_depths(at: OpenView) -> None:
    page = at("/sessions")
    page.click(f"a[href='/sessions/{SESSION[:8]}']")
    page.wait_for_selector(".tabs [aria-current]")
    page.wait_for_selector(".statements")
    page.click("text=The whole file")
    page.wait_for_selector(".source")
    page.click(".tabs >> text=Turns")
    page.wait_for_selector(".turns .tool")

    assert "connection refused" not in page.inner_text(".turns")
    page.click(".turns .tool summary")
    assert "connection refused" in page.inner_text(".turns")
    assert "The relay listens on port 2526" in page.inner_text("aside")  # what became of it


def test_the_turns_of_a_session_are_narrowed_searched_and_jumped_to(at: OpenView) -> None:
    page = at(f"/sessions/{SESSION}?depth=raw")
    assert page.locator(".map path").count() > 2 and "you 4" in page.inner_text(".map")

    page.select_option("select[name=only]", "mine")
    page.wait_for_selector(".tools:has-text('4 turns')")
    assert page.locator(".turns > li").count() == page.locator(".turns > .person").count() == 4
    page.fill("input[name=find]", "GREY cat")
    page.press("input[name=find]", "Enter")
    page.wait_for_selector(".tools:has-text('1 turn')")
    page.click(".turns .number")
    page.wait_for_selector(".turns [data-here]:has-text('grey cat')")
    assert page.locator(".turns > li").count() > 1  # where it was said

    page.focus(".map [type=range]")
    page.keyboard.press("Home")
    page.wait_for_selector(".turns [data-here]:has-text('Mails leave late')")
    assert page.url.endswith("first=1")


def test_the_review_is_prepared_by_keys_and_decided_at_the_terminal(at: OpenView, filled: House) -> None:
    page = at("/review")
    page.wait_for_selector("#statement:has-text('restart')")  # the replacement comes behind what only adds
    page.keyboard.press("r")
    page.keyboard.type("it was yesterday")
    page.keyboard.press("Enter")
    page.wait_for_selector("#statement:has-text('2526')")
    assert "2525" in page.inner_text(".diff .goes") and "2526" in page.inner_text(".diff .comes")
    assert page.locator(".diff > div").count() == 2 and "[^" not in page.inner_text(".diff")
    page.keyboard.press("o")
    page.wait_for_selector(".around[open] .turn.here mark")
    around = page.inner_text(".around")
    assert "Can you look at the relay" in around and "I correct the client" in around and "It runs and" not in around
    page.keyboard.press("u")
    page.wait_for_selector("#statement:has-text('restart')")
    page.wait_for_selector(".htmx-request, .htmx-swapping, .htmx-settling", state="detached")
    page.keyboard.press("t")
    page.fill("#topic", "Relay care")
    page.fill("#section", "Restarts")
    page.keyboard.press("Enter")
    page.wait_for_selector(".meta:has-text('topics/relay-care.md, Restarts (new)')")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open] >> text=another topic or section")
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    page.fill("#wording", "We restart\u200b the relay after a change; always.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#edit .warning:has-text('cannot see')")
    assert page.input_value("#wording").endswith("the relay after a change; always.")
    page.fill("#wording", "We restart the relay after a change of its settings; always. Never before ten.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#statement:has-text('2526')")
    page.keyboard.press("a")
    page.wait_for_selector("text=You have chosen for all of them")
    assert "2 chosen, 2 accept" in page.inner_text(".decide") and "oneiros review --page" in page.inner_text(".decide")

    seen = at_terminal(filled, [(r"Decide these 2 as shown \[y,n,\?\]\? ", "y\n"), WORD], "review", "--page")

    assert "2 accepted, 0 rejected" in seen.screen, seen
    care = (filled.root / "topics" / "relay-care.md").read_text(encoding="utf-8")
    assert "## Restarts" in care and "change of its settings; always. Never before ten.[^1]" in care


def test_the_rest_of_a_topic_is_one_step_and_leaves_a_replacement(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        root = house.memory_root
        archive_statements(root, "It needs TLS.", "It needs a key.", "The relay listens on port 2526.")
        proposed(
            decisions_on(root),
            *(
                extending(root, text, "2525", number=number)
                for number, text in ((1, "It needs TLS."), (2, "It needs a key."))
            ),
            replacing(root, "The relay listens on port 2526.", "2525", number=3),
        )
        house.serve()
        page = chrome.new_context().new_page()
        page.goto(link(house, "review"))
        page.wait_for_selector("#statement:has-text('It needs')")
        page.keyboard.press("f")
        page.wait_for_selector("#statement:has-text('2526')")
        assert "2 chosen, 2 accept" in page.inner_text(".decide")

        page.keyboard.press("u")

        page.wait_for_selector("#statement:has-text('It needs')")
        assert page.locator(".decide").count() == 0
        page.context.close()


def test_twelve_changes_by_keys_alone_with_what_was_chosen_kept_over_a_restart(chrome: Any) -> None:
    texts = [f"The relay {number} listens on port {2500 + number}." for number in range(1, 13)]
    with contextlib.closing(House()) as house:
        root = house.memory_root
        archive_statements(root, *texts)
        proposed(decisions_on(root), *(new_topic(text, f"relay-{n}", n) for n, text in enumerate(texts, start=1)))
        house.serve()
        page = chrome.new_context().new_page()
        page.goto(link(house, "review"))
        page.wait_for_selector("#statement")
        statements = [press(page, key) for key in "aaal"]
        page.keyboard.press("r")
        page.keyboard.type("it was yesterday")
        statements += [press(page, "Enter"), press(page, "a")]
        press(page, "u")
        assert page.inner_text("#statement") == statements[5]
        press(page, "u")
        assert page.inner_text("#statement") == statements[4]

        house.command("stop")
        house.serve()
        page.goto(link(house, "review"))
        page.wait_for_selector(f"#statement:has-text('{statements[4]}')")
        statements[4:] = [press(page, "a") for _ in range(8)]

        assert sorted(statements) == sorted(texts)
        page.wait_for_selector("text=You have chosen for all of them")
        assert "12 chosen, 11 accept, 1 later" in page.inner_text(".decide")
        seen = at_terminal(house, [(r"Decide these 11 as shown \[y,n,\?\]\? ", "y\n"), WORD], "review", "--page")
        assert "11 accepted, 0 rejected" in seen.screen, seen
        page.goto(link(house, "review"))
        page.wait_for_selector(f"#statement:has-text('{statements[3]}')")  # what was left for later is all that waits
        page.context.close()


def test_a_long_list_of_topics_comes_as_one_scrolls(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        for number in range(PAGE + 20):
            write_topic(root_at(house.root), f"subject-{number:03}", f"The number of this is {number}.")
        house.warm_up()
        page = chrome.new_context().new_page()
        page.goto(link(house, "topics"))
        page.wait_for_selector("text=Loading more")
        rows = page.locator("tr:has([data-row])")
        assert rows.count() == PAGE

        rows.last.scroll_into_view_if_needed()

        page.wait_for_selector(f".meta:has-text('subject-{PAGE + 19}')")
        assert rows.count() > PAGE and page.locator("text=Loading more").count() == 0
        page.context.close()


def test_a_note_is_taken_in_found_read_and_deleted(at: OpenView, filled: House) -> None:
    def kept() -> list[str]:
        return [file.read_text(encoding="utf-8") for file in (filled.root / "episodes").rglob("*.md")]

    page = at("/notes")
    page.fill("#text", "The spare key lies with the porter.")
    page.fill("#tags", "keys, hall")
    page.click("text=Take it in")
    page.click("li a:has-text('The spare key lies with the porter.')")
    page.wait_for_selector(".words")
    assert "The spare key lies with the porter." in page.inner_text(".words")
    assert any("spare key" in text and "hall" in text for text in kept())

    page.click("text=Delete")
    page.click("text=Delete it")
    page.wait_for_selector("text=No note yet.")
    assert kept() == []


def test_a_free_setting_changes_and_what_is_paid_does_not(at: OpenView, filled: House) -> None:
    page = at("/settings")
    page.fill("input[aria-label=hook_bytes]", "1500")
    page.press("input[aria-label=hook_bytes]", "Enter")
    page.wait_for_selector("text=hook_bytes is 1500.")

    assert "hook_bytes = 1500" in (filled.folder / ".config" / "oneiros" / "config.toml").read_text(encoding="utf-8")
    assert page.locator("input[aria-label=budget_day_usd]").count() == 0
    sent = "fetch('/page/settings/budget_day_usd', {method: 'PUT', headers: {'Oneiros-Page': sessionStorage.oneiros,"
    sent += " 'Content-Type': 'application/json'}, body: JSON.stringify({value: '99'})}).then(answer => answer.status)"
    assert page.evaluate(sent) == 400


def test_embedding_rests_and_goes_on(at: OpenView, filled: House) -> None:
    page = at("/settings")
    page.click("text=Let it rest")
    page.wait_for_selector("text=Embedding rests.")
    assert filled.client.ask("GET", "/api/indexing")["paused"] is True

    page.click("text=Let it go on")
    page.wait_for_selector("text=Embedding goes on.")
    assert filled.client.ask("GET", "/api/indexing")["paused"] is False


def test_where_no_trainer_is_named_and_none_runs_the_page_says_how_one_starts(at: OpenView) -> None:
    page = at("/trainers")

    page.wait_for_selector("text=names no trainer, and none runs on this machine")
    assert page.locator("#view section").count() == 0 and page.locator("#trouble").is_hidden()


def test_today_says_how_things_stand(at: OpenView) -> None:
    page = at("/today")
    page.wait_for_selector("svg.map")
    page.click("summary:has-text('Decisions')")
    page.wait_for_selector("text=the chain holds")

    assert {"topics", "sessions", "passages"} <= set(page.locator(".figures dt").all_inner_texts())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_free_of_findings_and_no_wider_than_its_window(at: OpenView, scheme: str) -> None:
    page, found = at("/today", color_scheme=scheme), list[object]()
    for address in SEEN:
        go(page, address)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = page.evaluate("axe.run().then(found => found.violations)")
        found += [(address, one["id"], one["nodes"][0]["html"][:200]) for one in violations]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found += [(address, width)] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else []

    assert found == []


def press(page: Any, key: str) -> str:
    """Presses a key in the review and waits for what is shown next; the statement that stood there."""
    statement = page.inner_text("#statement")
    page.keyboard.press(key)
    page.wait_for_function(
        "asked => ![asked, undefined].includes(document.querySelector('#statement')?.innerText)", arg=statement
    )
    return str(statement)


def go(page: Any, address: str) -> None:
    """To a view by a link, as from within the page; back when it stands there."""
    page.evaluate("document.querySelector('#view h1').remove()")
    follow = (
        "a => { const l = document.createElement('a'); l.href = a; document.body.append(l); l.click(); l.remove() }"
    )
    page.evaluate(follow, address)
    page.wait_for_selector("#view h1")


def test_the_browser_keeps_the_fragments_under_150_kb(at: OpenView) -> None:
    page = at("/today")
    sizes = json.loads(page.evaluate("JSON.stringify(performance.getEntries().map(one => one.transferSize || 0))"))

    assert sum(sizes) <= 150_000
