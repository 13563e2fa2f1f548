"""What a misspelt word was meant to be, for the end of a message.

f"no command 'rnu'{did_you_mean('rnu', ['run', 'tune'])}"      # no command 'rnu'; did you mean run?
"""

import difflib
import os
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest of the known words, as a question; nothing where none is near.

    What all of them begin with makes no two alike.
    """
    words = list(known)
    begin = os.path.commonprefix(words) if len(words) > 1 else ""
    begin = begin if word.startswith(begin) else ""
    near = difflib.get_close_matches(word[len(begin) :], [each[len(begin) :] for each in words], n=1)
    return f"; did you mean {begin}{near[0]}?" if near else ""
