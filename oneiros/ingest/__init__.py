"""Taking sessions in and forgetting them, as this person has set it up."""
