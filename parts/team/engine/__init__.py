"""The index of every tenant in one PostgreSQL database, behind the interfaces that search asks for."""
