"""What a process settles with the machine it runs on: files, privacy, freed memory, libraries that would call home."""
