"""Keeps a memory in order over time: sessions fade, the archive is thinned out, all of it is backed up."""
