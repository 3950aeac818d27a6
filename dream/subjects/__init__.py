"""Puts statements together by what they are about, and names each group by its subject."""
