"""What setup installs, by hash, and the program that looks it up."""
