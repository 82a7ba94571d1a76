"""The `keyfence` command."""


def main() -> None:
    from service.cli import app

    app()


if __name__ == "__main__":
    main()
