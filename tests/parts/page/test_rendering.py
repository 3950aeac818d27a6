"""Text that becomes HTML: marked, rendered, compared; and queries that become chips."""

import pytest

from parts.page.diffs import diff_rows
from parts.page.markdown import is_renderable, render_blocks, render_text
from parts.page.plots import divide, draw_line
from parts.page.rendering import drop_references, mark_code, mark_html, mark_words
from parts.page.search import add_filters, parse_chips


def rendered(text: str) -> str:
    return "".join(block.html for block in render_blocks(text, 1, "topics/a.md", lambda path: path == "topics/b.md"))


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,x)",
        "![x](http://example.org/pixel.png)",
        "[x](/page/settings)",
        "<svg/onload=alert(1)>",
        "[^<script>alert(1)</script>]",
    ],
)
def test_a_topics_markdown_makes_no_element_that_acts(text: str) -> None:
    html = rendered(text)

    assert not any(tag in html for tag in ("<script", "<img", "<svg", 'href="javascript', 'href="data', 'href="/page'))


def test_links_lead_to_topics_outside_or_nowhere() -> None:
    html = rendered("[b](b.md) [gone](c.md) [out](https://example.org)")

    assert '<a href="/topics/topics/b.md"' in html and '<a class="dead"' in html
    assert 'target="_blank" rel="noopener noreferrer"' in html


def test_a_block_knows_its_lines_and_footnotes() -> None:
    blocks = list(render_blocks("# T\n\nOne.[^a] `[^b]`\ntwo\n\n[^a]: somebody\n", 5, "topics/a.md", lambda _: True))

    assert [(block.first, block.last, block.notes) for block in blocks] == [(5, 5, ()), (7, 8, ((1, "a"),))]
    assert "somebody" not in blocks[1].html and 'href="#note-1"' in blocks[1].html


def test_each_item_of_a_list_stands_by_itself_with_its_footnote() -> None:
    text = "- One.[^a]\n  - Within.\n- Two.[^b]\n\n3. Three.\n4. Four.\n\n[^a]: x\n[^b]: y\n"

    blocks = list(render_blocks(text, 1, "topics/a.md", lambda _: True))

    assert [(block.first, block.last, block.notes) for block in blocks] == [
        (1, 2, ((1, "a"),)),
        (3, 4, ((2, "b"),)),
        (5, 5, ()),
        (6, 9, ()),
    ]
    assert "<li>Within.</li>" in blocks[0].html and blocks[1].html.startswith("<ul>\n<li>Two.")
    assert '<ol start="4">\n<li>Four.</li>\n</ol>' in blocks[3].html


def test_a_list_that_begins_at_nought_goes_on_from_there() -> None:
    html = rendered("0. None.\n1. One.\n")

    assert '<ol start="0">\n<li>None.' in html and '<ol start="1">\n<li>One.' in html


def test_hidden_characters_are_written_out() -> None:
    assert "\\u202e" in rendered("a \u202e b") and "\\u202e" in mark_words("a \u202e b", ["a"])


def test_a_line_of_a_megabyte_is_not_rendered() -> None:
    assert not is_renderable("a" * 1_000_000)


def test_words_that_stand_in_every_text_are_not_marked() -> None:
    assert mark_words("the relay and the port", ["the", "relay", "and"]) == "the <mark>relay</mark> and the port"


def test_a_decomposed_word_is_marked_as_it_is_asked() -> None:
    assert mark_words("Mu\u0308ller", ["Müller"]) == "<mark>Müller</mark>"


def test_words_are_marked_and_everything_else_is_escaped() -> None:
    assert mark_words("<b>Relays</b> & ports", ["relay"]) == "&lt;b&gt;<mark>Relays</mark>&lt;/b&gt; &amp; ports"


def test_the_words_that_differ_are_told_apart() -> None:
    rows = diff_rows("topics/a.md", "x\nport 1 of it\n", "x\nport 2 of it\nnew\n")

    assert [(row.sign, row.parts) for row in rows] == [
        (" ", (("x", False),)),
        ("-", (("port ", False), ("1", True), (" of it", False))),
        ("+", (("port ", False), ("2", True), (" of it", False))),
        ("+", (("new", False),)),
    ]


def test_filters_chosen_beside_the_box_become_part_of_the_query() -> None:
    chosen = {"layer": "topic", "after": "2026-03-01", "project": "x y"}

    query = add_filters('relay after:2026-01-01 tag:"a b"', chosen)

    assert query == 'relay tag:"a b" layer:topic project:"x y" after:2026-03-01'


def test_a_chip_knows_the_query_without_it() -> None:
    assert [(chip.text, chip.without) for chip in parse_chips('a tag:dns "layer:x" topic:"b c"')] == [
        ("tag:dns", 'a "layer:x" topic:"b c"'),
        ('topic:"b c"', 'a tag:dns "layer:x"'),
    ]


def test_marks_stand_in_the_text_of_rendered_markdown_and_in_no_tag() -> None:
    html = mark_html(
        render_text("The **relay** of [strong](https://example.org/strong) & `relay x < y`"), ["relay", "strong", "amp"]
    )

    assert "<strong><mark>relay</mark></strong>" in html and 'href="https://example.org/strong"' in html
    assert "<mark>strong</mark></a> &amp; <code><mark>relay</mark> x &lt; y</code>" in html


@pytest.mark.parametrize(
    ("line", "html"),
    [
        ("run `make x` and `y`", "run <code>make x</code> and <code>y</code>"),
        ("a ``double `inner` run`` b", "a <code>double `inner` run</code> b"),
        ("`` ` `` is a backtick", "<code>`</code> is a backtick"),
        ("open `only ``twice`` & <b>", "open `only <code>twice</code> &amp; &lt;b&gt;"),
    ],
)
def test_code_ends_with_as_many_backticks_as_opened_it(line: str, html: str) -> None:
    assert mark_code(line) == html


def test_a_passage_is_shown_without_what_points_at_its_sources() -> None:
    assert (
        drop_references("It is so.[^a1]\n- Done. [05c7193c, b6741f18]\n- [x] kept") == "It is so.\n- Done.\n- [x] kept"
    )


def test_a_line_leaves_out_what_is_no_number() -> None:
    plot = draw_line("Loss", "loss", [(0, 4.0), (10, float("nan")), (20, 1.0)])

    assert 'points="0.00,0.00 100.00,75.00"' in plot.svg and len(plot.rows) == 2


def test_the_tiles_of_a_map_fill_it_by_their_sizes() -> None:
    tiles = list(divide([6, 6, 4, 3, 2, 2, 1]))

    assert [round(wide * high / 10_000 * 24, 6) for _, _, wide, high in tiles] == [6, 6, 4, 3, 2, 2, 1]
    assert max(max(wide / high, high / wide) for _, _, wide, high in tiles) < 5
