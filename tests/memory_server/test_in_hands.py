"""What a model gets in its hands: one answer of a fixed shape, places that can be read, layers that mean what they say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.archived import ArchivedSessions
from memory_server.document import Layer
from memory_server.embedding.catalogue import Catalogue
from memory_server.memory import Memory
from memory_server.place import Place, parse_place
from memory_server.search.query import filter_of, parse_query
from memory_server.search.question import Search
from memory_server.settings import PersonSettings
from tests.conftest import MakeEngine
from tests.crawler.archiving import Ingester, settings_in
from tests.crawler.transcripts import Record, assistant, call, person, result, write_transcript
from tests.memories import root_at, write_session, write_topic
from tests.memory_server.test_mcp_server import call as called
from tests.memory_server.test_mcp_server import text_of
from tests.memory_server.test_spoken_answers import NOW
