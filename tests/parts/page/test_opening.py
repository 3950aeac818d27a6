"""`oneiros open`: where the page is opened, and where its link is given."""

import pytest

from parts.page.command import has_browser


@pytest.mark.parametrize(
    ("variables", "platform", "has"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "10.0.0.1 22"}, "linux", False),
    ],
)
def test_a_browser_is_opened_where_a_person_would_see_it(variables: dict[str, str], platform: str, has: bool) -> None:
    assert has_browser(variables, platform) == has
