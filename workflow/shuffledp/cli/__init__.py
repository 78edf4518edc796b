"""The command line: what a deployment costs, what fits into a budget, and the trainings of the papers.

Only parsing and printing live here. The numbers come from ``shuffledp.accountants``, which imports numpy and
scipy. Loading these takes longer than printing help or an error should take, so a command imports what it
computes with only after its arguments have been read.
"""

from __future__ import annotations

import click

import shuffledp
from shuffledp.cli import accounting, plan, training
from shuffledp.cli.errors import BAD_INPUT, OneLineErrors


@click.group(
    name="shuffledp",
    cls=OneLineErrors,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, help="Print the version.")
@click.pass_context
def app(context: click.Context, version: bool) -> None:
    """Privacy accounting for the shuffle model: T rounds, each with K of N clients drawn afresh.

    Neighbouring data sets differ in the record of one client or, for distributed check-in, in whether this
    client is in the data at all. Numbers may be written as 1e6.
    """
    if version:
        click.echo(f"shuffledp {shuffledp.__version__}")
        context.exit()
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(BAD_INPUT)


for _command in (*accounting.COMMANDS, *plan.COMMANDS, *training.COMMANDS):
    app.add_command(_command)


def main() -> None:
    """Run the command line; its name is the same however it was started."""
    app(prog_name="shuffledp")
