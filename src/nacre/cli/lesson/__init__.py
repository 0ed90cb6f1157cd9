"""The commands of `nacre lesson`, each imported when it is run."""
