"""How a person consents at the command line: by a word, or by a key of their own."""
