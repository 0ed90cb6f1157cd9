"""The commands of `nacre lesson`; a module is imported when one of its commands runs."""
