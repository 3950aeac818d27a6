"""What other clients read: where each keeps its servers and instructions, and how an entry goes in and out again."""
