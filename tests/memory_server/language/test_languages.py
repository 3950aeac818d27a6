"""The language of a memory, on prose and on code with little prose around it."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_server.embedding.model import ModelFiles
from memory_server.language.languages import MANY, NAMES, detect_language, reads_text
from tests.conftest import MakeEngine

ROWS = Path(__file__).parents[3] / "benchmarks" / "languages.tsv"

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
    assert detect_language([text]) == language
    assert language in NAMES


def test_a_memory_of_two_languages_is_of_the_one_that_most_of_it_is_in() -> None:
    assert detect_language([ENGLISH, GERMAN * 3]) == "de"
    assert detect_language([ENGLISH * 6, RUSSIAN]) == "en"
    assert detect_language([ENGLISH, RUSSIAN * 4]) == "ru"


@pytest.mark.parametrize("text", ["", "src/main.rs:12 fn der_die() {}", "relay port 2525", "`der und die`" * 50])
def test_of_a_text_without_prose_nothing_is_told(text: str) -> None:
    assert detect_language([text]) == ""


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        CODE,
        "why do we pin the workers?",
        "chore(api): remove Pinata IPFS provider",
        "relay port 2525",
        "WLED MQTT TLS",
        "Sessions live in memory for twenty minutes and are then written to the disk.",
        "",
    ],
)
def test_the_packaged_model_reads_english_however_short(
    text: str, make_engine: MakeEngine, real_model: ModelFiles
) -> None:
    assert reads_text(["en"], make_engine(real_model).count_tokens, text)


GERMAN_QUESTIONS = ["Wie heißt die Katze des Chefs", "welche Datenbank nutzen Bestellungen", "Wo liegt der Speicher"]
KEYWORDS = """postgres redis timeout retries
docker compose healthcheck retries
oauth refresh token expiry
kubectl nginx ingress autoscaler
fix pytest xdist flakiness
celery rabbitmq prefetch backpressure
jwt cookie samesite
webpack vite hmr sourcemaps
alembic sqlalchemy autogenerate migrations
terraform s3 backend dynamodb lock
grafana prometheus scrape config
tokenizer subword fallback
eslint prettier husky precommit
cron logrotate journald disk
cors preflight credentials header
asyncio semaphore deadlock
sqlite wal checkpoint vacuum
graphql dataloader n+1 resolver
systemd unit restart backoff
npm lockfile peer dependencies
nginx upstream keepalive timeout websocket proxy"""


@pytest.mark.parametrize("question", [*KEYWORDS.split("\n"), "Do I do an update per tenant?"])
def test_it_reads_keywords_and_names_of_programs(
    question: str, make_engine: MakeEngine, real_model: ModelFiles
) -> None:
    assert reads_text(["en"], make_engine(real_model).count_tokens, question)


def test_a_text_with_common_words_enough_is_read_whatever_its_pieces() -> None:
    asked: list[str] = []

    def count_pieces(texts: Sequence[str]) -> list[int]:
        asked.extend(texts)
        return [9] * len(texts)

    assert reads_text(["en"], count_pieces, "the zorgle that was in the quux of a frob with it")
    assert not reads_text(["en"], count_pieces, "zorgle quux frob wibble wobble plugh xyzzy thud")
    assert asked == ["", *"zorgle quux frob wibble wobble plugh xyzzy thud".split()]


@pytest.mark.parametrize("text", [GERMAN, RUSSIAN, CHINESE, JAPANESE, *GERMAN_QUESTIONS, "猫", "Кто?"])
def test_it_does_not_read_what_it_was_not_taught(text: str, make_engine: MakeEngine, real_model: ModelFiles) -> None:
    count = make_engine(real_model).count_tokens

    assert not reads_text(["en"], count, text)
    assert reads_text([MANY], count, text), "a model of many languages reads whatever comes"


def test_questions_and_statements_of_nine_languages_are_told_from_english(
    make_engine: MakeEngine, real_model: ModelFiles
) -> None:
    count, wrong, texts = make_engine(real_model).count_tokens, [], 0
    with ROWS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            for text in (row["statement"], row["question"], row["absent"]):
                texts += 1
                wrong += [text] if reads_text(["en"], count, text) is not (row["language"] == "en") else []

    assert texts == 600
    assert wrong == [
        "Passwörter müssen mindestens zwölf Zeichen haben.",
        "Chaque changement a besoin d'un test avant d'être fusionné.",
        "Qui traduit l'interface ?",
    ]
