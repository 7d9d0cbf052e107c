"""The command line in full, by click: help, completion, and a precise word about everything that is wrong with it.

Built from the declarations that the express lane reads too. Only parses: the verb itself runs outside.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from synapse_git import __version__
from synapse_git.cli import catalogue, output
from synapse_git.cli.verb import EVERYWHERE, Argument, Option, Verb
from synapse_git.errors import EXIT_OUTPUT, EXIT_USAGE, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

if TYPE_CHECKING:
    _Type = click.ParamType[Any]  # generic to type checkers of newer versions only
else:
    _Type = click.ParamType

Parsed = tuple[Verb, dict[str, object]]

_STORY = """Claims on paths in Git checkouts, so that agents and people who share them do not trample each other.

\b
  synapse-git install                    once in a repository
  synapse-git claim src/api -t login     before you edit: src/api is yours
  git commit …                           others' commits of src/api are refused
  synapse-git release -t login           when you are done

A claim ends by itself (after an hour unless --ttl says otherwise). Who you are: --agent NAME, or SYNAPSE_AGENT, or your
coding agent's session, or user@host."""

_EPILOG = """More on one: VERB --help, or: help VERB.
Exit status: 0 done, 1 refused (with a reason code), 2 wrong usage, 3 no hub, 4 no usable checkout.

\b
Completion: eval "$(synapse-git completion bash)"   (or zsh, fish)"""


def parse(argv: Sequence[str], env: Mapping[str, str]) -> Parsed | int:
    """The verb and its values; or, where click has answered itself (help, completion), the exit status.

    Raises:
        UsageError: with what is wrong and what to type.
    """
    program = _program(argv)
    root = build(env)
    words = list(argv[1:])
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    try:
        found = root.main(words, prog_name=program, complete_var="_SYNAPSE_GIT_COMPLETE", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as missing:
        click.echo(missing.ctx.get_help() if missing.ctx else root.help, err=True)
        return EXIT_USAGE
    except click.UsageError as wrong:
        raise UsageError(_explained(wrong, program)) from wrong
    except OSError as error:
        output.lose(sys.stdout, error)
        return EXIT_OUTPUT
    except click.Abort:
        raise KeyboardInterrupt from None
    return found if isinstance(found, tuple) else int(found or 0)


def _program(argv: Sequence[str]) -> str:
    name = os.path.basename(argv[0]) if argv else ""
    return "git synapse" if name == "git-synapse" else "synapse-git"


def _explained(wrong: click.UsageError, program: str) -> str:
    if wrong.ctx is None:
        return f"{wrong.format_message()}\nMore: {program} --help"
    return f"{wrong.format_message()}\n{wrong.ctx.get_usage()}\nMore: {wrong.ctx.command_path} --help"


# What people type who come from elsewhere.
_MEANT = {
    **dict.fromkeys(("lock", "take", "acquire", "reserve"), "claim"),
    **dict.fromkeys(("unlock", "free", "drop", "unclaim", "done"), "release"),
    **dict.fromkeys(("ls", "list", "who", "locks", "claims"), "status"),
    **dict.fromkeys(("init", "setup", "enable"), "install"),
    **dict.fromkeys(("remove", "disable"), "uninstall"),
    **dict.fromkeys(("extend", "refresh"), "renew"),
    **dict.fromkeys(("give", "pass"), "handoff"),
    **dict.fromkeys(("history", "audit", "events"), "log"),
    **{word: f"hub {word}" for word in ("start", "stop", "verify", "export", "import")},
}


class _Leaf(click.Command):
    """One verb. What stands where it takes nothing may be a task that wants its option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as wrong:
            wrong.ctx = wrong.ctx or ctx  # whose help is meant; click's parser does not say
            raise
        if rest and not ctx.resilient_parsing:
            takes_task = len(rest) == 1 and any("-t" in param.opts for param in self.params)
            hint = f" Did you mean: {ctx.command_path} -t {rest[0]}?" if takes_task else ""
            ctx.fail(f"there is no place for {' '.join(map(repr, rest))} here.{hint}")
        return rest


class _Family(click.Group):
    """Verbs under one roof, which names the nearest one when a verb does not exist."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = [f"{ctx.command_path} {found}" for found in difflib.get_close_matches(name, self.list_commands(ctx))]
            if name in _MEANT:
                near = [f"{ctx.find_root().command_path} {_MEANT[name]}"]
            hint = f" Did you mean: {near[0]}?" if near else ""
            ctx.fail(f"there is no verb {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


class _Root(_Family):
    """The top: its help lists the verbs in groups."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        for heading, names in catalogue.GROUPS.items():
            rows = [(verb.name, verb.summary) for name in names if (verb := catalogue.load(name))]
            with formatter.section(heading):
                formatter.write_dl(rows)


class _Value(_Type):
    """A declared converter as click's kind of type."""

    def __init__(self, metavar: str, convert: Callable[[str], object], completes: str, env: Mapping[str, str]) -> None:
        self.name = metavar
        self._convert = convert
        self._completes = completes
        self._env = env

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._convert(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:  # click's signature
        del ctx, param
        if self._completes in ("file", "dir"):
            return [CompletionItem(incomplete, type=self._completes)]
        if self._completes == "shell":
            from synapse_git.cli import completion

            return [CompletionItem(shell) for shell in completion.SHELLS if shell.startswith(incomplete)]
        if self._completes == "task":
            from synapse_git.cli import suggestion

            return [CompletionItem(task, help=owner) for task, owner in suggestion.tasks(self._env, incomplete)]
        return []


def build(env: Mapping[str, str]) -> click.Group:
    """The whole command line as a click group; invoked, its commands give what was parsed."""
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    root = _Root(
        "synapse-git",
        help=_STORY,
        epilog=_EPILOG,
        params=[*_options(EVERYWHERE, env), _version()],
        context_settings=settings,
        subcommand_metavar="VERB …",
    )
    families = {
        name: _Family(name, help=about, params=_options(EVERYWHERE, env), subcommand_metavar="VERB …")
        for name, about in catalogue.FAMILIES.items()
    }
    for family in families.values():
        root.add_command(family)
    for verb in catalogue.verbs():
        parent_name, _, last = verb.name.rpartition(" ")
        parent = families[parent_name] if parent_name else root
        parent.add_command(_command(last, verb, env))
    return root


def _version() -> click.Parameter:
    def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(f"synapse-git {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="Print the version."
    )


def _command(name: str, verb: Verb, env: Mapping[str, str]) -> click.Command:
    def parsed(**values: object) -> Parsed:
        ctx = click.get_current_context().parent
        while ctx is not None:
            for option in EVERYWHERE:
                if values[option.key] == option.absent:
                    values[option.key] = ctx.params.get(option.key, option.absent)
            ctx = ctx.parent
        return verb, values

    params = [*_arguments(verb.argument, env), *_options((*verb.options, *EVERYWHERE), env)]
    return _Leaf(name, callback=parsed, params=params, help=verb.help, short_help=verb.summary, epilog=_examples(verb))


def _examples(verb: Verb) -> str:
    width = max(len(line) for line, _ in verb.examples)
    rows = [f"  synapse-git {line:<{width}}   {does}".rstrip() for line, does in verb.examples]
    return "\n".join(["\b", "Examples:", *rows])


def _options(options: Sequence[Option], env: Mapping[str, str]) -> list[click.Parameter]:
    return [
        click.Option(
            [*option.names, option.key],
            is_flag=not option.metavar,
            multiple=option.many,
            default=option.absent,
            metavar=option.metavar or None,
            type=_Value(option.metavar, option.convert, option.completes, env) if option.metavar else None,
            help=option.help,
        )
        for option in options
    ]


def _arguments(argument: Argument | None, env: Mapping[str, str]) -> list[click.Parameter]:
    if argument is None:
        return []
    shown = argument.metavar + ("…" if argument.many else "")
    return [
        click.Argument(
            [argument.key],
            nargs=-1 if argument.many else 1,
            required=argument.required,
            metavar=shown if argument.required else f"[{shown}]",
            type=_Value(argument.metavar, argument.convert, argument.completes, env),
        )
    ]
