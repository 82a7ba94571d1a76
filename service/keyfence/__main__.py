"""The entry point of the `keyfence` command."""


def main() -> None:
    from keyfence.cli import app

    app()


if __name__ == "__main__":
    main()
