"""How answers look on a terminal: tables, charts, prompts, times."""
