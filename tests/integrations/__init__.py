"""Each adapter with the real package of its framework; `make test-integrations` installs these packages."""
