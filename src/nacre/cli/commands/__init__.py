"""One file for each group of commands; a file is imported only when one of its commands runs."""
