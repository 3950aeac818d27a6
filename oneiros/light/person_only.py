"""What a person alone may run or set: the command line asks them, and the guard refuses it to an assistant."""

PERSON_COMMANDS = frozenset(
    {"review", "apply", "accept", "adopt", "revert", "trust", "forget", "key"}  # behind `oneiros` or `oneiros dream`
)
PERSON_SETTINGS = frozenset(  # what decides what is read, run, sent or paid, and who signs
    {
        "trusted_roots",
        "signing_key",
        "crawl_roots",
        "ingest_allow",
        "ingest_deny",
        "deny_words",
        "reference_roots",
        "compressor",
        "compressor_model",
        "compressor_url",
        "compressor_key_variable",
        "compressor_usd_in",
        "compressor_usd_out",
        "budget_run_usd",
        "budget_day_usd",
        "recorder",
        "dream_extractor",
    }
)
