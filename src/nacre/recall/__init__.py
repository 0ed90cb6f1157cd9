"""The recall path: understand -> gather -> score -> adjust -> rerank -> select -> expand -> pack."""
