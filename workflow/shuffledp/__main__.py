"""``python -m shuffledp``: the command line without the script that installation puts on the path."""

from shuffledp.cli import main

if __name__ == "__main__":
    main()
