"""keyfence policy: the policies of the roles, rendered, searched for holes, explained and evaluated."""

import typer

from keyfence.cli.policy_evaluate import evaluate
from keyfence.cli.policy_explain import explain
from keyfence.cli.policy_lint import lint
from keyfence.cli.policy_render import render

policy = typer.Typer(
    name="policy",
    help="Policies: print them, find their holes, ask what they decide.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in (render, lint, explain, evaluate):
    policy.command()(command)
