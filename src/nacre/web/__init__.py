"""The page: see, search, review and undo a memory in a browser. Its source is in `web/`, built by `make web`."""
