"""Deciding about memories: decay, relevance gate, selection, unfolding, standing instructions, context policies.

A library without a server: it takes candidates from `retrieval` and returns decisions; it imports nothing of `arpm`.
"""
