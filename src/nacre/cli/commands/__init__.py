"""One module a command, named as it is called; each holds its `command` and is imported only when it runs."""
