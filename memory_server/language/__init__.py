"""What is of language: words and stems, stop words, sentences, and the cues by which a text shows its kind."""
