"""Sets the memory server up in other programs, each in the way that program reads its settings."""
