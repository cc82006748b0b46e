"""Every verb of the command line: its options and its help. What it does is in the module that it names."""

from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from retinue.cli import history_verbs, options, ticket_verbs
from retinue.cli.options import DIALECTS, KITS, TO_FORMATS, Duration, choice, implemented_by, lazy, together

_FROM: Final = ("markdown", "skill", "command", *TO_FORMATS[2:])


@click.command("run")
@click.argument("goal", nargs=-1, metavar="GOAL...")
@click.option(
    "--plan", "source", metavar="FILE", help="Run this plan, written by `retinue plan --output`; - for stdin."
)
@click.option("--explain", is_flag=True, help="Also show why each agent was chosen, and other decisions.")
@options.agents_option
@options.context_option
@click.option("--fail-on", type=choice("failure", "partial"), help="When to exit with status 1. [default: failure]")
@click.option("--no-journal", is_flag=True, help="Do not save this run in the history.")
@options.store_option
@click.option("--detach", is_flag=True, help="Leave the run to a worker, print its id, and do not wait.")
@click.option("--run", metavar="ID", help="Id for a detached run; the same id twice is one run.")
@options.choose_option
@options.bound_options
@options.form_options
@together(
    "project",
    "project:open_project",
    options.model_option,
    options.runner_option,
    options.level_option,
    options.planner_option,
    options.workspace_option,
)
@implemented_by("run:run_goal")
def run() -> None:
    r"""Answer GOAL with the available agents, and name the source of each statement.

    A goal may ask for several things at once. Use - to read it from stdin. It can be left out with --plan.

    \b
      retinue run "who changed the parser last, and what does it promise?"
      git log -1 --format=%B | retinue run - --json
      retinue run --plan edited.json --explain
    """


@click.command("worker")
@click.option(
    "--workspace", "workspaces", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
    help="Folder whose runs it takes; repeatable. [default: the current one]",
)  # fmt: skip
@click.option("--at-once", type=click.IntRange(min=1), default=4, show_default=True, metavar="N", help="Runs at once.")
@click.option(
    "--per-workspace", type=click.IntRange(min=1), metavar="N", help="Runs of one folder at once. [default: --at-once]"
)
@click.option(
    "--grace",
    type=Duration(),
    default=10.0,
    metavar="TIME",
    help="How long runs may go on when it is stopped. [default: 10s]",
)
@click.option("--burst", is_flag=True, help="Stop when nothing is left to do.")
@click.option("--broker", metavar="URL", help="RabbitMQ, which shares runs out among workers on several machines.")
@click.option(
    "--shared-workspace", is_flag=True, help="The machines share its folders: take runs that another one left too."
)
@options.store_option
@implemented_by("worker:work")
def worker() -> None:
    r"""Take detached runs from the queue and run them, until it is stopped.

    It also continues runs of workers that have died, and runs whose questions were answered. Several workers may share
    one history. Ctrl-C (or SIGTERM) lets runs end for the time of --grace; what still runs then goes back to the queue.

    \b
      retinue run --detach "what changed last week?"
      retinue worker --at-once 8
      retinue worker --store postgresql://db.example/runs --broker amqp://mq.example
    """


@click.command("plan")
@click.argument("goal", nargs=-1, required=True)
@options.agents_option
@options.context_option
@options.output_option("Write the plan to this file, as JSON for `retinue run --plan`.")
@options.json_option
@together("project", "project:open_project", options.model_option, options.planner_option, options.workspace_option)
@implemented_by("plan:show_plan")
def plan() -> None:
    r"""Show which agents would be asked for GOAL, and why, without running them.

    Below the plan stands what there is here for these agents: tables with their columns, and names, of branches for
    example. Write the plan to a file, edit it, and run it. Use - to read the goal from stdin. Exits 1 when no agent
    fits any part of the goal.

    \b
      retinue plan "who changed the parser last, and what does it promise?"
      retinue plan "count the commits of this year" --output plan.json && retinue run --plan plan.json
    """


@click.command("ask")
@click.argument(
    "words", nargs=-1, metavar="[AGENT [SKILL]] [INSTRUCTION]", shell_complete=lazy("completion:agent_words")
)
@options.parameter_options("Parameter as text; repeatable.", "Parameters as a JSON object; - for stdin.")
@together(
    "program",
    "ask:ProgramOptions",
    click.option("--command", "line", metavar="COMMAND", help="Ask this program over stdin and stdout."),
    click.option("--dialect", type=choice(*DIALECTS), help="Dialect of the program. [default: plain text]"),
    click.option("--as", "name", metavar="NAME", help="Agent name of the program."),
    click.option(
        "--env", "environment", multiple=True, metavar="NAME", help="Variable to pass to the program; repeatable."
    ),
)
@click.option("--in", "incoming", type=choice(*DIALECTS), help="Read the request as a message of this dialect.")
@click.option("--out", "outgoing", type=choice(*DIALECTS), help="Write the answer in this dialect.")
@click.option("--no-journal", is_flag=True, help="Do not save this run in the history.")
@options.store_option
@options.choose_option
@options.bound_options
@options.form_options
@together(
    "project",
    "project:open_project",
    click.option("--model", metavar="NAME", help="The model to use: provider:model, or a tier (small, medium, large)."),
    options.runner_option,
    options.level_option,
    options.workspace_option,
)
@implemented_by("ask:ask_agent")
def ask() -> None:
    r"""Send one request to AGENT; request and answer are validated against its contract.

    Without AGENT, the module in ACTIVE_AGENT_PATH is asked. Without SKILL, the instruction decides. Use - to read the
    instruction from stdin. Exits 5 when the agent answers with an error.

    With --command, a program is asked instead of an agent: [SKILL] [INSTRUCTION]. It runs without a shell and with few
    environment variables; --env adds more.

    With --in, the request is a message, read from stdin by default; it names the agent if the command does not. The
    answer is written in the same dialect, unless --out names another.

    \b
      retinue ask git_state_analyzer "what changed last week?"
      retinue ask git_state_analyzer branch_status --param base=main --json
      retinue ask --command "./my-agent --json" --dialect markdown_json "what is missing?"
      retinue ask --in tool_use < handoff.json
    """


@click.command("parse")
@options.message_options("--dialect", "-d")
@options.json_option
@implemented_by("message:parse_message")
def parse() -> None:
    r"""Read the message in FILE (or on stdin) in any of the six dialects, and show what it means.

    The content goes to stdout, in the contract's own form; the detected dialect and any problems go to stderr. Exits 6
    when the message is invalid.

    \b
      my-agent "count the tests" | retinue parse
      retinue parse answer.json --dialect markdown_json --level strict --json
    """


@click.command("convert")
@click.option(
    "--to", "target", required=True, metavar="NAME", shell_complete=options.dialect_names, help="Dialect to write."
)
@options.message_options("--from")
@click.option("--form", metavar="NAME", help="Which form of that dialect to write. [default: the usual one]")
@click.option("--strict", is_flag=True, help="Fail without writing anything if something would be lost.")
@options.output_option("Write the message to this file instead of stdout.")
@options.json_option
@implemented_by("message:convert_message")
def convert() -> None:
    r"""Convert the message in FILE (or on stdin) to another dialect.

    The message goes to stdout. The detected dialect, any problems, and every field that the other dialect cannot
    express go to stderr. Exits 6 when the message is invalid, and with --strict also when anything is lost.

    \b
      retinue convert answer.json --to task_signal
      retinue convert --from markdown_json --to tool_use --strict --json < request.md
    """


@click.command("agents")
@click.argument("name", required=False, shell_complete=lazy("completion:agent_names"))
@click.option("--light", is_flag=True, help="Short form: one line per agent and skill.")
@options.json_option
@options.project_option
@implemented_by("agents:list_agents")
def agents() -> None:
    """List the available agents; with NAME, show one in full."""


@click.command("convert-definition")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "form", type=options.FormatName(TO_FORMATS), help=f"Format to write: {', '.join(TO_FORMATS)}.")
@click.option("--from", "kind", type=options.FormatName(_FROM), help="Format of PATHS, if it cannot be detected.")
@click.option(
    "--output",
    "-o",
    metavar="FILE|DIR",
    help="Where to write: a file, or a folder for several definitions. [default: stdout]",
)
@click.option("--url", metavar="URL", help="URL of the agent, for agent_json and a2a.")
@click.option("--keep-folders", is_flag=True, help="Keep the folder structure of PATHS below --output.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--strict", is_flag=True, help="Fail without writing anything if something would be lost.")
@options.json_option
@implemented_by("convert_definition:convert_definitions")
def convert_definition() -> None:
    r"""Convert the agent definitions in PATHS (files or folders) to another format.

    Fields that the other format cannot express are listed on stderr. Existing files are kept unless --force is given.
    Exits 6 when a file holds no definition, and with --strict when something would be lost.

    \b
      retinue convert-definition .claude/agents --to skill --output skills/
      retinue convert-definition skills/pdf/SKILL.md --to a2a --url https://example.org/pdf > pdf.agent-card.json
    """


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--notes", is_flag=True, help="Also list notes, which are only counted otherwise.")
@click.option("--select", multiple=True, metavar="RULE", help="Check only rules whose id starts with this; repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Skip rules whose id starts with this; repeatable.")
@click.option("--against", metavar="REV|FOLDER", help="Also report changes since REV or FOLDER that break callers.")
@click.option("--fix", "fix", is_flag=True, help="Fix what can be fixed automatically: misspelt names, missing quotes.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Report only findings that are not in this file.",
)
@click.option("--update-baseline", is_flag=True, help="Write all current findings to the baseline file.")
@click.option("--format", "kind", type=choice("text", "json", "junit", "sarif"), help="Report format. [default: text]")
@options.output_option("Write the report to this file.")
@options.json_option
@implemented_by("lint:lint_definitions")
def lint() -> None:
    r"""Check the agent definitions in PATHS: tool-use JSON, Markdown and Python files, or folders.

    In a folder, files below `agents`, `skills` or `commands` and files that look like a definition are checked; in
    other texts, only how they call agents. No code is run. Each finding names place, rule, problem and fix; see
    `retinue explain RULE` for more. Exits 6 when there are errors.

    \b
      retinue lint .claude agents/
      retinue lint .claude --against origin/main --output lint.sarif
    """


@click.command("init")
@click.option("--claude", "claude", is_flag=True, required=True, help="Write `.claude/agents` and `.claude/commands`.")
@click.option("--check", "check_only", is_flag=True, help="Write nothing; exit 6 if a file is missing or out of date.")
@click.option("--force", is_flag=True, help="Overwrite files that were changed by hand.")
@options.json_option
@options.workspace_option
@implemented_by("init:init_claude")
def init() -> None:
    r"""Write agents and slash commands for Claude Code, by which it asks the agents that work on tickets.

    A file that is there and differs is kept, unless --force is given; the others are brought up to date.

    \b
      retinue init --claude
      retinue init --claude --check
    """


@click.command("explain")
@click.argument("name", metavar="[RULE]", required=False)
@options.json_option
@implemented_by("explain:explain_rule")
def explain() -> None:
    r"""Explain a rule of `retinue lint` or `tickets check`, with an example; without RULE, list all rules.

    \b
      retinue explain definition/description-when
    """


@click.command("check")
@click.argument("subjects", metavar="SUBJECT...", nargs=-1, required=True)
@click.option(
    "--command",
    "is_command",
    is_flag=True,
    help="Each SUBJECT is a command line that reads the request on stdin and writes the answer to stdout.",
)
@click.option("--dialect", type=choice(*KITS), help="Dialect to test. [default: detected]")
@click.option(
    "--definition",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Its definition, JSON or Markdown, from which valid requests are made.",
)
@click.option("--agent", metavar="NAME", help="The agent's name in its own answers.")
@click.option("--operation", metavar="NAME", help="An operation it supports.")
@click.option("--target", metavar="TEXT", help="A valid target.")
@click.option("--partial-target", metavar="TEXT", help="A target that it can handle only in part.")
@click.option("--instruction", metavar="TEXT", help="The instruction, for dialects that ask in plain text.")
@options.parameter_options("A required parameter; repeatable.", "Required parameters, as a JSON object.")
@click.option("--model", metavar="NAME", help="Model to run a Markdown agent with: a tier, or provider:model.")
@click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME",
    help="Environment variable to pass to the command; repeatable.",
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME:VARIABLE",
    help="Header for every request to a URL, with the value of an environment variable; repeatable.",
)
@click.option("--hostile", "is_hostile", is_flag=True, help="Also send a URL what no client should send; asks first.")
@click.option("--yes", "-y", is_flag=True, help="With --hostile: do not ask.")
@click.option(
    "--timeout", "timeout_s", type=Duration(), help="Time limit of one request: seconds, or 90s, 5m. [default: 30]"
)
@click.option("--format", "kind", type=choice("text", "json", "junit", "html"), help="Report format.")
@options.output_option("Write the report to this file.")
@click.option("--strict", is_flag=True, help="Treat a failed SHOULD as an error.")
@options.json_option
@implemented_by("check:check_agents")
def check() -> None:
    r"""Test each SUBJECT against the requirements of its dialect.

    SUBJECT is `agent.py` or `package.module` with a `run_agent`, `agent.py:answer` for a function from text to text (or
    an agent of Retinue), a Markdown agent such as `.claude/agents/reviewer.md`, run by a model, a URL where A2A, MCP or
    `agent.json` is spoken, or, with --command, a command line, run without a shell. It gets valid, unusual and hostile
    requests. Its code is imported or run, so name only code that you trust.

    \b
      retinue check agents/hierarchical.py
      retinue check http://127.0.0.1:8000/ --hostile
      retinue check --command "./review --json" --dialect markdown_json --agent reviewer --operation full-review

    Exits 8 when a MUST requirement fails.
    """


tickets = ticket_verbs.tickets


@click.group("assistant")
def assistant() -> None:
    """Show the personal assistant's tools, and test which tools prompts are routed to.

    Ask it with `retinue ask personal_assistant "remind me to call Ada tomorrow"`.
    """


@assistant.command("domains")
@options.json_option
@implemented_by("assistant:list_domains")
def assistant_domains() -> None:
    """List the built-in domains as the router sees them."""


@assistant.command("test")
@click.argument("cases", required=False, type=click.Path(path_type=Path))
@click.option("--keep-going", "-k", is_flag=True, help="Continue after a process has failed.")
@click.option(
    "--limit", "limit_s", type=float, default=120.0, show_default=True, help="Time limit of one prompt, in seconds."
)
@options.json_option
@implemented_by("assistant:check_routing")
def assistant_test() -> None:
    """Send prompts to the assistant, each in its own process, and check which tool was used.

    CASES is a TOML file of [[case]] tables with `prompt` and `tool`; by default the built-in prompts are used. `pass`
    means that exactly the expected tool was used, `partial` that it was among several. The test stops at the first
    process that fails, unless --keep-going is given. Exits 8 when a prompt failed.
    """


@click.group("bench", invoke_without_command=True)
@click.pass_context
def bench(context: click.Context) -> None:
    """Compare agents or models on the same tasks."""
    if context.invoked_subcommand is None:
        raise click.UsageError("Name what to compare: retinue bench agents TASKS.")


@bench.command("agents")
@click.argument("tasks", metavar="TASKS")
@click.option("--models", metavar="A,B", help="Models or tiers to compare. [default: the agents' own]")
@click.option("--agents", metavar="X,Y", help="Agents to compare. [default: those that the tasks name]")
@click.option("--repeat", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Trials of each.")
@click.option("--judge", metavar="MODEL", help="Model that judges answers by their task's rubric.")
@options.plot_option("Draw charts, .svg.")
@options.bound_options
@options.json_option
@options.workspace_option
@implemented_by("bench:compare_agents")
def bench_agents() -> None:
    r"""Run agents and models on TASKS, a TOML or JSON file, and compare quality, cost and time.

    Quality is judged by the schema, values and words that a task expects, and with --judge by a model. The limits hold
    for all trials together; finished trials are always shown. Exits 1 when no trial gave an answer.

    \b
      retinue bench agents tasks.toml --models small,large --repeat 5 --plot compared.svg
      retinue bench agents tasks.toml --models replay:recorded.jsonl --json
    """


@click.command("trust")
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(path_type=Path))
@click.option("--yes", "-y", is_flag=True, help="Trust without asking.")
@click.option("--list", "list_only", is_flag=True, help="List trusted folders.")
@click.option("--revoke", is_flag=True, help="Stop trusting DIR.")
@click.option("--tool-root", "is_tool_root", is_flag=True, help="Trust the extensions (`*_tool.py`) in DIR instead.")
@options.json_option
@implemented_by("trust:trust_folder")
def trust() -> None:
    """Allow the code of DIR's agents to run; DIR is the current repository by default.

    Lists the files that contain or name code, then asks. When one of them is changed, added or removed, you are asked
    again. A project can never trust itself. The settings of a trusted project may also choose models.

    With --tool-root, DIR is a folder of extensions for the personal assistant (TOOL_ROOT). All Python files in it are
    listed, since extensions may import them.
    """


runs = history_verbs.runs
store = history_verbs.store
for _command in (runs, *runs.commands.values(), *store.commands.values()):
    options.store_option(_command)


@click.command("stats")
@options.since_option
@click.option(
    "--agent", metavar="NAME", shell_complete=lazy("completion:agent_names"), help="Only calls of this agent."
)
@click.option("--run", metavar="RUN", shell_complete=lazy("completion:run_ids"), help="Only this run.")
@click.option("--all", "every", is_flag=True, help="All runs, not only the newest 10,000.")
@options.plot_option("Draw charts to this .svg file.")
@options.store_option
@options.json_option
@options.workspace_option
@implemented_by("stats:show_statistics")
def stats() -> None:
    r"""Show success rates, costs, tokens, times and models of past runs.

    Only measured values are included. Runs of all folders count; tiers are those set in this folder.

    \b
      retinue stats --since 7d
      retinue stats --agent researcher_analyst --plot researcher.svg
    """


@click.command("serve")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need keys.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 takes any that is free."
)
@click.option("--public-url", default="", metavar="URL", help="Address by which others reach it, for the cards.")
@click.option("--anonymous", type=choice("read", "none"), help="What callers without a key may do. [default: read]")
@click.option(
    "--door",
    "doors",
    multiple=True,
    type=choice("http", "a2a", "mcp"),
    help="Doors to open; repeatable. [default: all]",
)
@click.option("--a2a", default="1.0,0.3", show_default=True, metavar="LIST", help="Versions of A2A to speak.")
@click.option("--grpc-port", type=click.IntRange(1, 65535), help="Speak A2A 1.0 over gRPC too, on this port.")
@click.option(
    "--push-network",
    "push_networks",
    multiple=True,
    metavar="CIDR",
    help="With A2A: a private network that updates may be sent to; repeatable.",
)
@click.option("--stdio", is_flag=True, help="Serve MCP to one client on stdin and stdout, instead of a port.")
@click.option(
    "--effects", default="read", show_default=True, metavar="LIST", help="With --stdio: read, write, network."
)
@click.option("--max-cost-usd", type=options.Money(), help="With --stdio: what a run may cost. [default: nothing]")
@together(
    "project", "project:open_served_project", options.model_option, options.runner_option, options.workspace_option
)
@options.store_option
@implemented_by("serve:serve_agents")
def serve() -> None:
    r"""Serve the agents of this folder over HTTP, A2A and MCP, or only those in PATHS.

    Each agent has a card, a generic endpoint and a route for each skill; /docs lists them. Each skill is a tool of the
    MCP server at /mcp. Callers on this machine need no key, and may only read. Runs are kept in the history; those that
    a stopped server left go on when it starts.

    \b
      retinue serve
      retinue serve agents/greeter.py --port 0
      retinue serve --stdio --effects read,write
      retinue keys add ci --effects read,write --max-cost-usd 0.50
    """


@click.group("keys")
def keys() -> None:
    """Make, list and revoke the keys of those who call a server."""


@keys.command("add")
@click.argument("name")
@click.option("--agents", multiple=True, metavar="PATTERN", help="Agents it opens, such as `git_*`; repeatable.")
@click.option("--doors", multiple=True, type=choice("http", "a2a", "mcp"), help="Doors it opens; repeatable.")
@click.option("--effects", default="read", show_default=True, metavar="LIST", help="read, write, network.")
@click.option("--approve", is_flag=True, help="Its holder may answer approvals, of anybody's runs.")
@click.option("--max-cost-usd", type=options.Money(), help="Cost limit of a run.")
@click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="Token limit of a run.")
@click.option("--rate", type=click.IntRange(min=1), metavar="N", help="Requests a minute.")
@click.option("--concurrent", type=click.IntRange(min=1), metavar="N", help="Runs at once.")
@click.option("--expires", type=Duration(), help="How long it works: 12h, or seconds.")
@options.json_option
@implemented_by("serve:add_key")
def keys_add() -> None:
    """Make a key called NAME, and show it once. Only its hash is kept."""


@keys.command("list")
@options.json_option
@implemented_by("serve:list_keys")
def keys_list() -> None:
    """List the keys and what they allow."""


@keys.command("revoke")
@click.argument("name")
@implemented_by("serve:revoke_key")
def keys_revoke() -> None:
    """Delete the key called NAME. A running server refuses it at once."""


@click.group("models", invoke_without_command=True)
@options.json_option
@options.workspace_option
@click.pass_context
def models(context: click.Context, *, as_json: bool, workspace: Path | None) -> None:
    r"""List tiers with their models, prices, and whether the API key is set. No model is called.

    \b
      retinue models
      retinue models price anthropic:claude-haiku-4-5 --tokens-in 20000 --tokens-out 1000
    """
    if context.invoked_subcommand is None:
        lazy("models:list_models")(as_json=as_json, workspace=workspace)


@models.command("price")
@click.argument("model")
@click.option("--tokens-in", type=click.IntRange(min=0), default=1_000_000, metavar="N", help="Input tokens.")
@click.option("--tokens-out", type=click.IntRange(min=0), default=0, metavar="N", help="Output tokens.")
@options.json_option
@options.workspace_option
@implemented_by("models:show_price")
def models_price() -> None:
    """Show the price of a call to MODEL: `provider:model`, or a tier. Exits 1 when the price is unknown."""


@click.group("memory", invoke_without_command=True)
@click.pass_context
def memory(context: click.Context) -> None:
    """List, search and delete what agents remember. Lists it by default.

    Memories are stored in your state directory, never in a project.
    """
    if context.invoked_subcommand is None:
        context.invoke(memory_list)


@memory.command("list")
@options.scope_option
@options.limit_option(50)
@options.workspace_option
@options.json_option
@implemented_by("memory:list_memories")
def memory_list() -> None:
    """List memories, the newest first."""


@memory.command("search")
@click.argument("words", nargs=-1, required=True)
@options.scope_option
@options.limit_option(10)
@options.workspace_option
@options.json_option
@implemented_by("memory:search_memories")
def memory_search() -> None:
    """Search memories for WORDS, best match first."""


@memory.command("forget")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@options.scope_option
@options.workspace_option
@options.json_option
@implemented_by("memory:forget_memories")
def memory_forget() -> None:
    """Delete memories for good: their text is overwritten in the file."""


@memory.command("set-aside")
@options.scope_option
@options.workspace_option
@options.json_option
@implemented_by("memory:set_aside_memory")
def memory_set_aside() -> None:
    """Move an unreadable memory file out of the way and start a new one. Nothing is deleted."""


@click.group("config", invoke_without_command=True)
@click.pass_context
def config(context: click.Context) -> None:
    """Show the settings.

    Settings are taken, first match wins, from command line options, RETINUE_… environment variables, the project's
    retinue.toml (or [tool.retinue] in pyproject.toml), your own file, and the defaults.
    """
    if context.invoked_subcommand is None:
        context.invoke(config_show)


@config.command("show")
@click.option("--origin", is_flag=True, help="Show where each value comes from instead of its description.")
@options.json_option
@options.workspace_option
@implemented_by("settings:show_settings")
def config_show() -> None:
    """Show every setting and its value."""


@click.command("doctor")
@options.json_option
@options.project_option
@implemented_by("doctor:check_installation")
def doctor() -> None:
    """Check this installation and folder for problems. Exits 1 when something that Retinue needs is broken."""


@click.command("completion")
@click.argument("shell", type=choice("bash", "zsh", "fish"))
@click.pass_context
def completion(context: click.Context, *, shell: str) -> None:
    """Print the completion script for SHELL.

    For bash, add to ~/.bashrc:  eval "$(retinue completion bash)"
    """
    completion_class = get_completion_class(shell)
    if completion_class is None:  # pragma: no cover - the choice above lists what click has
        raise click.UsageError(f"No completion for {shell!r}.")
    click.echo(completion_class(context.find_root().command, {}, "retinue", "_RETINUE_COMPLETE").source())
