"""`python -m nacre` is `nacre`."""

from nacre.cli.start import run

if __name__ == "__main__":
    run()
