"""Who holds what, as a statement names them."""

import pytest

from dream.statements.reading import find_holders


@pytest.mark.parametrize(
    ("text", "name", "what"),
    [
        ("Tom owns billing.", "Tom", {"bill"}),
        ("Ines owns billing since Tom left", "Ines", {"bill"}),
        ("Mei took over the search service from Kofi", "Mei", {"search", "servic"}),
        ("The platform team is responsible for backups.", "The platform team", {"backup"}),
        ("Billing is maintained by Ines now", "Ines", {"bill"}),
    ],
)
def test_a_holder_is_found_with_what_it_holds(text: str, name: str, what: set[str]) -> None:
    (holder,) = find_holders(text)

    assert holder.name == name
    assert set(holder.what) == what


@pytest.mark.parametrize("text", ["We own billing.", "It leads to errors in billing.", "Ask who owns billing."])
def test_where_nobody_is_named_there_is_no_holder(text: str) -> None:
    assert list(find_holders(text)) == []
