"""The backends that keep records and find them, each under its product's name."""
