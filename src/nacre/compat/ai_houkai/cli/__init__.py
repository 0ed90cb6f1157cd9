"""The command line `houkai`."""
