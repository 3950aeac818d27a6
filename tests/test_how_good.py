"""The page of figures is what its script makes of the files of figures."""

from benchmarks.how_good import CHARTS, FIGURES, PAGE, build_files, draw_bars, format_table

SHARES = {"first passage": {"oneiros": (0.5, 0.25, 0.75), "FTS5 & co": (0.1, 0.0, 0.2)}}


def test_the_page_and_its_pictures_are_drawn_from_the_figures_that_are_kept() -> None:
    files = build_files(PAGE.read_text(encoding="utf-8"))

    assert [path.name for path, text in files.items() if path.read_text(encoding="utf-8") != text] == []
    assert {path.stem for path in FIGURES.iterdir()} == {chart.name for chart in CHARTS}


def test_a_bar_is_as_long_as_its_share_and_its_line_as_its_interval() -> None:
    picture = draw_bars("Answers", SHARES)

    assert 'class="own" x="270" y="50" width="190.0"' in picture
    assert '<line x1="365.0" x2="555.0"' in picture
    assert "FTS5 &amp; co" in picture


def test_a_table_has_a_row_a_measure_and_a_column_a_system() -> None:
    assert format_table(SHARES).splitlines() == [
        "|  | oneiros | FTS5 & co |",
        "| --- | --- | --- |",
        "| first passage | 0.50 (0.25 to 0.75) | 0.10 (0.00 to 0.20) |",
    ]


def test_no_number_of_questions_sessions_or_pieces_is_typed() -> None:
    typed = [chart.name for chart in CHARTS if any(letter.isdigit() for letter in chart.title)]

    assert typed == ["sde", "harm"], "whose files do not hold how many there are"
