from contextlib import closing

import pytest

from memory_server.language.words import Stemmer


def test_a_word_that_cannot_be_stemmed_does_not_end_the_stemmer() -> None:
    with closing(Stemmer()) as stemmer:
        with pytest.raises(UnicodeEncodeError):
            stemmer.stems(["\ud800"])

        assert stemmer.stems(["ports"]) == ("port",)
