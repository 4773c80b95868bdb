"""`colonnade completion`: a script that completes the command in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._libraries import require

if TYPE_CHECKING:
    import argparse

#: The shells of shtab.
SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], whole: argparse.ArgumentParser
) -> None:
    """Adds the subcommand `completion`, which completes the command `whole`."""
    summary = "write a script that completes this command in a shell"
    more = "For bash: colonnade completion bash > ~/.local/share/bash-completion/completions/colonnade."
    description = f"{summary[0].upper()}{summary[1:]}. {more}"
    parser = subparsers.add_parser("completion", help=summary, description=description)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")

    def run(args: argparse.Namespace) -> int:
        print(require("shtab", "colonnade completion", "completion").complete(whole, args.shell))
        return 0

    parser.set_defaults(run=run)
