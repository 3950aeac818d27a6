"""The language of a memory, on prose and on code with little prose around it."""

import pytest

from memory_server.language.languages import NAMES, language_of

ENGLISH = """The relay listens on port 2525 and is restarted by the watchdog. When it was moved to the new host, the old
address was not removed from the list, so that mail for it was lost. That is why this is checked every night."""
GERMAN = """Der Server wird jede Nacht neu gestartet, damit die Protokolle nicht zu groß werden. Wenn das nicht geht,
ist die Platte voll, und es hilft nur, den alten Ordner von Hand zu löschen. Das gilt auch für die Testumgebung."""
RUSSIAN = """Сервер перезапускается каждую ночь, чтобы журналы не становились слишком большими. Если это не помогает,
значит диск заполнен, и старую папку `backup/old_logs` нужно удалить вручную."""
CHINESE = "服务器每天晚上都会重新启动，以免日志变得太大。如果没有用，说明磁盘已满，需要手动删除旧的文件夹 old_logs。"
JAPANESE = "サーバーは毎晩再起動されるので、ログが大きくなりすぎることはありません。古いフォルダは手で削除します。"
CODE = """```python
for der, die, das in und(nicht): return ist.ein(eine.mit)
```
The function `read_der_und_die` of memory_server/search/die.py is called by the worker, and it is not to be used when
the lock is held. It is from the first version, and that is what the test in tests/der/die_und_das.py is for.
"""


@pytest.mark.parametrize(
    ("text", "language"),
    [(ENGLISH, "en"), (GERMAN, "de"), (RUSSIAN, "ru"), (CHINESE, "zh"), (JAPANESE, "ja"), (CODE, "en")],
)
def test_the_language_of_a_memory_is_told(text: str, language: str) -> None:
    assert language_of([text]) == language
    assert language in NAMES


def test_a_memory_of_two_languages_is_of_the_one_that_most_of_it_is_in() -> None:
    assert language_of([ENGLISH, GERMAN * 3]) == "de"
    assert language_of([ENGLISH * 6, RUSSIAN]) == "en"
    assert language_of([ENGLISH, RUSSIAN * 4]) == "ru"


@pytest.mark.parametrize("text", ["", "src/main.rs:12 fn der_die() {}", "relay port 2525", "`der und die`" * 50])
def test_of_a_text_without_prose_nothing_is_told(text: str) -> None:
    assert language_of([text]) == ""
