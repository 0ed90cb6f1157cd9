"""`python -m nacre` is `nacre`."""

from nacre.cli.main import run

if __name__ == "__main__":
    run()
