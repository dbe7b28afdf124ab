"""`python -m server` is `fa2`."""

from server.cli import main

if __name__ == "__main__":
    main()
