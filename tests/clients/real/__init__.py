"""The real clients with a scripted model; `make test-clients` installs them."""
