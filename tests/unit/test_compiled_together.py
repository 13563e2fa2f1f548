"""Files compiled together share their unnamed namespaces, where an overload of one would serve calls of another."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: At the left margin, where no class or function is open: [template] type name(
DEFINITION = re.compile(
    r"(?:template <.*> )?(?:inline |constexpr |static )*[A-Za-z_][\w:<>,&* ]*?[ &*](?P<name>\w+)\("
)
NAMESPACE = re.compile(r"namespace (?P<name>[\w:]+) \{")
NO_FUNCTION = ("TEST", "using", "#", "//", "return", "}", "extern")


def functions(text: str) -> set[tuple[str, str]]:
    """Namespaces and names of what a file defines for itself."""
    found, namespace = set(), ""
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            namespace = opened["name"]
        if line.startswith(NO_FUNCTION) or line.endswith(";"):
            continue
        defined = DEFINITION.match(line)
        if defined and f"::{defined['name']}" not in line:
            found.add((namespace, defined["name"]))
    return found


def test_definitions_are_seen() -> None:
    text = "namespace eco::net {\nnamespace {\nstd::string of(int x) {\n}\nint Class::size() const {\nauto x = f();\n"
    assert functions(text) == {("eco::net", "of")}


@pytest.mark.parametrize("patterns", [
    ["preload/backend/*.cc"], ["preload/rank/*.cc"], ["preload/fuzz/*.cc"], ["eco/**/*_test.cc", "lab/**/*_test.cc"],
], ids=lambda patterns: patterns[-1])  # fmt: skip
def test_no_function_is_defined_twice(patterns: list[str]) -> None:
    files = defaultdict(list)
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        for function in functions(path.read_text(encoding="utf-8")):
            files[function].append(str(path.relative_to(ROOT)))
    assert files
    assert {name: where for name, where in files.items() if len(where) > 1} == {}
