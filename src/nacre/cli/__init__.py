"""Commands for people at a terminal and for scripts: parses, calls one method of the store, renders."""
