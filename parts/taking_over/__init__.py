"""Takes over what is written down elsewhere, makes skills of what is done again, and writes out what is approved."""
