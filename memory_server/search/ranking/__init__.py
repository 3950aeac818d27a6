"""How passages are ranked: two arms, their fusion, reranking, and the scales by which scores are read."""
