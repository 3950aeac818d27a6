"""What a process does with the machine it runs on: files, privacy, freed memory, libraries that would call home."""
