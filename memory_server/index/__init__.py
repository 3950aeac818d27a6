"""What is indexed, and where: ledger, keyword index, semantic index and token vectors, and how they are built."""
