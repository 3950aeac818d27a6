"""What a memory keeps of sessions: pieces with what a careful maintainer keeps, a scorer, and systems entered."""
