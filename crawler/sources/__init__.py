"""What a conversation of another agent becomes, which its reader makes of a file: the entries of a transcript."""
