"""Generating a reply: one small interface (`base`) and its three backends (`local`, `openai`, `transformers`)."""
