"""What is around every view: the rail, what finds anything, errors, and the place that Back and a reload keep."""

import contextlib
from typing import Any

import pytest

from parts.page.topics import PAGE
from tests.memories import root_at, write_topic
from tests.parts.page.browser import link
from tests.parts.page.conftest import OpenView
from tests.parts.page.test_views import go
from tests.system.house import House, wait_until

pytestmark = pytest.mark.page
VISIT = """async times => {  // within the page: a handle of the test's would hold the nodes of the view it came from
  const views = ["/topics", "/sessions", "/review", "/settings", "/today"];
  for (let number = 0; number < times; number++) {
    document.querySelector("#view h1").remove();
    const link = Object.assign(document.createElement("a"), {href: views[number % views.length]});
    document.body.append(link);
    link.click();
    link.remove();
    while (!document.querySelector("#view h1")) await new Promise(next => setTimeout(next, 5));
  }
}"""


def test_anything_is_found_while_one_types_and_opened_by_its_name(at: OpenView) -> None:
    page = at("/settings")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#found a:has-text('Review')")
    page.keyboard.type("cats")
    page.wait_for_selector("#found a[href='/search?q=cats']")  # what was found for the half word finds the topic, too
    assert "cats" in page.inner_text("#found a[aria-selected=true]").casefold()

    page.keyboard.press("Enter")

    page.wait_for_selector("#view h1[data-view=topics]")
    assert page.url.endswith("/topics/topics/cats.md") and not page.is_visible("#finder")


def test_a_question_is_answered_while_one_types(at: OpenView) -> None:
    page = at("/today")
    page.click("header >> text=Find anything")
    page.keyboard.type("where does the cat sleep")

    page.wait_for_selector("#found a[href='/search?q=where+does+the+cat+sleep']")  # the whole question, no part of it
    page.wait_for_selector("#found a:has-text('sleeps on the warm oven')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_selector(".row.here")
    assert "sleeps on the warm oven" in page.inner_text(".row.here")


def test_an_error_is_a_view_with_a_heading_and_a_way_on(at: OpenView) -> None:
    page = at("/topics/nothing-of-this-name")

    assert page.inner_text("h1") == "This is not there" and "no source named" in page.inner_text("#view")
    page.click("#view >> text=Today")
    page.wait_for_selector("h1[data-view=today]")


def test_the_rail_says_how_much_waits_and_how_the_indices_stand(at: OpenView) -> None:
    page = at("/topics")

    page.wait_for_selector("nav .count:has-text('2')")
    page.wait_for_selector("#pulse span:text-is('All is indexed')")


def test_a_phone_has_a_bar_of_five_and_the_others_behind_the_last(at: OpenView) -> None:
    page = at("/today", viewport={"width": 360, "height": 740})
    shown = page.locator("nav[aria-label=Views] > :visible")
    assert [one.split("\n")[0] for one in shown.all_inner_texts()] == ["Today", "Search", "Topics", "Review", "More"]

    page.click("text=More")
    page.click(".others >> text=Sessions")

    page.wait_for_selector("h1[data-view=sessions]")
    assert not page.is_visible(".others >> text=Sessions")


def test_back_and_reload_keep_the_row_and_the_limit(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        for number in range(PAGE + 40):
            write_topic(root_at(house.root), f"subject-{number:03}", f"The number of this is {number}.")
        house.warm_up()
        page = chrome.new_context().new_page()
        page.goto(link(house, "topics"))
        page.wait_for_selector("text=Loading more")
        page.locator("[data-row]").last.scroll_into_view_if_needed()
        row = page.locator("tr:has-text('subject-120') [data-row]")
        row.click()
        page.wait_for_selector(".topic .row")
        page.go_back()

        row.wait_for()
        assert row.evaluate("one => one === document.activeElement")
        assert row.is_visible() and row.evaluate("one => one.getBoundingClientRect().top < innerHeight")
        page.reload()
        row.wait_for()
        page.wait_for_function("scrollY > 1000")

        go(page, "/search?q=number&limit=30")
        assert page.url.endswith("limit=30")
        page.context.close()


def test_no_view_leaves_nodes_behind(at: OpenView) -> None:
    page = at("/today")
    debugger = page.context.new_cdp_session(page)

    def count_nodes() -> int:
        page.locator(".plots svg").first.wait_for()  # most of its nodes, and they come behind the view
        debugger.send("HeapProfiler.collectGarbage")
        return int(debugger.send("Memory.getDOMCounters")["nodes"])

    page.evaluate(VISIT, 10)
    before = count_nodes()
    page.evaluate(VISIT, 300)

    wait_until(lambda: count_nodes() <= 1.2 * before)  # what is asked for every few seconds is let go by then
    assert page.locator(".plots svg").count()
