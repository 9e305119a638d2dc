"""Finding memories: chunking, tokens, embedding, vector index, BM25, fusion and the two routes.

A library without a server: no global state, no Flask, no ledger. It imports nothing of `governance` or `arpm`.
"""
