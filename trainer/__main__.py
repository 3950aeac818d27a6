"""`python -m trainer`: the entry point of the stages and of the service."""

from trainer.cli.main import run

if __name__ == "__main__":
    run()
