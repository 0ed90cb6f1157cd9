"""Embedders, the cross-encoder and language models behind their protocols."""
