"""Files compiled together share their unnamed namespaces, where an overload of one would serve calls of another."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: At the left margin, where no class or function is open.
FUNCTION = re.compile(
    r"(?:template <.*> )?(?:inline |constexpr |static )*[A-Za-z_][\w:<>,&* ]*?[ &*](?P<name>\w+)\("
)
CONSTANT = re.compile(
    r"(?:inline |static )*(?:constexpr|const|thread_local) [\w:<>,&* ]*?[ &*](?P<name>\w+)(?:\[\w*\])? ?[={;]"
)
TYPE = re.compile(r"(?:struct|class|enum class|union) (?P<name>\w+)\b.*\{|using (?P<alias>\w+) =")
NAMESPACE = re.compile(r"namespace (?P<name>[\w:]*) ?\{")
NO_FUNCTION = ("TEST", "using", "#", "//", "return", "}", "extern")


def names(text: str) -> dict[tuple[str, str], bool]:
    """Namespace and name of what a file defines; true if for itself, in an unnamed namespace."""
    found: dict[tuple[str, str], bool] = {}
    namespace, is_own = "", False
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            namespace, is_own = opened["name"] or namespace, not opened["name"]
        elif line.startswith("}  // namespace"):
            is_own = False
        defined = CONSTANT.match(line) or TYPE.match(line)
        if not defined and not line.startswith(NO_FUNCTION) and not line.endswith(";"):
            defined = FUNCTION.match(line)
        if defined:
            name = next(name for name in defined.groupdict().values() if name)
            if f"::{name}" not in line:
                found[namespace, name] = found.get((namespace, name), False) or is_own
    return found


def test_definitions_are_seen() -> None:
    text = (
        "namespace eco::net {\nnamespace {\nstd::string of(int x) {\nconstexpr int kFew = 3;\nstruct Two {\n"
        "using Many = int;\n}  // namespace\nint Class::size() const {\nauto x = f();\nint known(int x) {\n"
    )
    own = {("eco::net", name): True for name in ("of", "kFew", "Two", "Many")}
    assert names(text) == own | {("eco::net", "known"): False}


#: What is compiled without them: tests, the rooms that are compiled once per ABI, and what stands in for a library.
NOT_IN_CORE = re.compile(r"_test\.cc$|/transport/mpi/|/no_\w+\.cc$")


@pytest.mark.parametrize(("patterns", "left_out"), [
    (["preload/backend/*.cc"], None), (["preload/rank/*.cc"], None), (["preload/fuzz/*.cc"], None),
    (["python/src/*.cc"], None), (["eco/**/*_test.cc", "lab/**/*_test.cc"], None), (["eco/**/*.cc"], NOT_IN_CORE),
], ids=lambda of: of[-1] if isinstance(of, list) else "")  # fmt: skip
def test_no_name_is_defined_twice(patterns: list[str], left_out: re.Pattern[str] | None) -> None:
    """None of a file's own; two files may overload what a header declares."""
    files: dict[tuple[str, str], list[str]] = defaultdict(list)
    own: set[tuple[str, str]] = set()
    headers = [pattern.replace("_test.cc", ".h").replace(".cc", ".h") for pattern in patterns]
    for path in sorted({path for pattern in patterns + headers for path in ROOT.glob(pattern)}):
        if left_out and left_out.search(str(path)):
            continue
        for name, is_own in names(path.read_text(encoding="utf-8")).items():
            files[name].append(str(path.relative_to(ROOT)))
            if is_own:
                own.add(name)
    assert files
    assert {name: where for name, where in files.items() if len(where) > 1 and name in own} == {}
