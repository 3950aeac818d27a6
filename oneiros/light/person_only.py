"""What is for the person alone: commands by which they decide, and settings of what is read, run, sent or paid.

The guard in front of an assistant's tools refuses them, and the command line asks for consent before it does them.
"""

PERSON_COMMANDS = frozenset({"review", "apply", "accept", "adopt", "revert", "trust", "forget", "key"})
PERSON_SETTINGS = frozenset(
    # what is read
    "trusted_roots crawl_roots machine ingest_allow ingest_deny deny_words reference_roots reference_endings "
    # what is run, sent and paid
    "compressor compressor_model compressor_url compressor_key_variable compressor_usd_in compressor_usd_out "
    "budget_run_usd budget_day_usd recorder dream_extractor "
    # who decides
    "signing_key".split()
)
