"""Makes question-answer pairs from chunks, by a model or by plain rules, each checked against its chunk."""
