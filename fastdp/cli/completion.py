"""``fastdp completion``: the script that lets a shell complete commands, options and files."""

from __future__ import annotations

import click

VARIABLE = "_FASTDP_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL, for its start-up file.

    \b
    Examples:
      eval "$(fastdp completion bash)"                                 in ~/.bashrc
      eval "$(fastdp completion zsh)"                                  in ~/.zshrc
      fastdp completion fish > ~/.config/fish/completions/fastdp.fish
    """
    from click.shell_completion import get_completion_class

    from fastdp.cli.main import main

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "fastdp", VARIABLE).source())
