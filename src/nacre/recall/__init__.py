"""The way out: understand -> rank by a strategy -> weigh -> rerank -> choose -> expand -> pack, a module each."""
