"""What is for the person alone: places of a memory, and settings of what is read, run, sent or paid.

The command line asks for consent before it changes such a setting; the client is told to write nothing there, and a
guard in front of an assistant's tools refuses what would.
"""

# below a memory root; a person's yes alone changes them
APPROVED = ("topics", "lessons.md", "MEMORY.md", "ontology.yaml", "proposals")
OWN_DATA = ("sessions", ".git", ".oneiros", "oneiros.toml")  # what they said and decided, what answers, how it is kept
PERSON_SETTINGS = frozenset(
    # what is read
    "trusted_roots crawl_roots agents speakers machine machines ingest_allow ingest_deny deny_words reference_roots "
    "reference_endings references both_memories "
    # what is run, sent and paid
    "reader reader_model reader_url reader_key_variable reader_usd_in reader_usd_out reader_tokens_day reader_projects "
    "chat_backend chat_model chat_url chat_key_variable chat_usd_in chat_usd_out "
    "team_url budget_run_usd budget_day_usd sparse_model late_model rerank_model "
    # who decides
    "signing_key".split()
)
