"""What a person does with a whole memory: backup and restore."""
