"""The interface for clients that run a command at events of a conversation."""
