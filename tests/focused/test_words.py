"""Every sentence of a strategy or a parameter is marked for translation."""

from focused.admin.parameter_words import SENTENCES
from focused.options import RunOptions
from focused.parameters import parameters_of
from focused.strategies import BUILT_IN, strategy_class


def test_sentences_of_strategies_and_options_are_all_marked() -> None:
    shown = {parameter.help for parameter in parameters_of(RunOptions)}
    for name in BUILT_IN:
        found = strategy_class(name)
        shown |= {found.summary, *(parameter.help for parameter in found.parameters())}
    assert shown == set(SENTENCES)
