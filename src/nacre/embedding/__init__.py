"""Embedders: texts become directions; one file a backend, nothing heavy imported until it is used."""
