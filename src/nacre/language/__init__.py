"""Language models: a prompt becomes an answer; one file a backend, none of them needed."""
