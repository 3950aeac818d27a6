"""Notes that a person or an assistant takes: found, and never decisive."""
