"""The addresses by which scripts for earlier systems ask, over the operations of this one."""
