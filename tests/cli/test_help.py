"""Help texts, the overview, and messages about wrong usage."""

import shlex

import pytest
import typer

from dimetric.cli._help import EXAMPLES, OVERVIEW, SUMMARIES
from dimetric.cli.main import VERBS, app

COMMAND = typer.main.get_command(app)
WIDTH = 80


def words_of(text):
    return " ".join(text.split())


def commands_in(text):
    return [line.strip() for line in text.splitlines() if line.startswith("  dimetric ")]


def test_without_arguments_an_overview_leads_to_inspect_and_compare(run):
    done = run()
    assert done.exit_code == 0
    assert done.stdout == OVERVIEW
    verbs = [line.split()[1] for line in commands_in(OVERVIEW)]
    assert verbs == ["inspect", "compare", "predict", "neighbors"]
    assert max(map(len, OVERVIEW.splitlines())) <= WIDTH


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb_has_a_summary_and_examples_that_can_be_parsed(run, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert SUMMARIES[verb] in words_of(run("--help").output)
    text = run(verb, "--help").output
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "--json" in text
    assert "-q, --quiet" in text
    for example in EXAMPLES[verb]:
        assert example in text  # on a single line
        program, name, *words = shlex.split(example)
        assert (program, name) == ("dimetric", verb)
        COMMAND.commands[verb].make_context(verb, words)  # raises if an option is unknown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["wine.csv", "--target", "kind"],
            "'wine.csv' is a file, not a command. Run `dimetric compare wine.csv --target kind`.",
        ),
        (["m.dimetric"], "'m.dimetric' is a file, not a command. Run `dimetric info m.dimetric`."),
        (["comapre", "wine.csv"], "There is no command 'comapre'. Did you mean compare?"),
        (["frobnicate"], "compare, fit, transform, predict, embed, "),
        (["fit", "wine.csv", "--taget", "a"], "There is no option --taget. Did you mean --target"),
        (["info", "m.dimetric", "--jsom"], "There is no option --jsom. Did you mean --json?"),
        (["fit", "wine.csv"], "Missing option '--out'"),
    ],
)
def test_common_mistakes(run, words, sentence):
    done = run(*words)
    assert done.exit_code == 2
    assert sentence in words_of(done.stderr)
    assert "Invalid value" not in done.stderr
