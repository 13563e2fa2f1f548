"""What a misspelt word was meant to be."""

from eco.spelling import did_you_mean


def test_the_nearest_word_is_named() -> None:
    assert did_you_mean("rnu", ["tune", "run"]) == "; did you mean run?"
    assert did_you_mean("xyzzy", ["tune", "run"]) == ""
    assert did_you_mean("run", []) == ""
    assert did_you_mean("runn", ["run"]) == "; did you mean run?"


def test_what_all_words_begin_with_makes_none_near() -> None:
    known = ["ECO", "ECO_BUDGET", "ECO_AMBIENT"]
    assert did_you_mean("ECO_BUGDET", known) == "; did you mean ECO_BUDGET?"
    assert did_you_mean("ECO_MISSPELT", known) == ""
