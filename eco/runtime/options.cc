#include "eco/runtime/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/coll/problem.h"

namespace eco::runtime {
namespace {

// Sets one option from its text; false if the text is not among the allowed values.
using Apply = bool (*)(const std::string& text, Options& options);
// What is set, as its text; the same for all texts that mean the same.
using Value = std::string (*)(const Options& options);

struct Entry {
  OptionDoc doc;
  Apply apply;
  // Of what must be equal on all ranks. Files are not (one rank reads them), nor what only diagnoses, nor what differs
  // between hosts by design.
  Value agreed = nullptr;
};

template <class Number>
bool parse_number(const std::string& text, Number least, Number most, Number& number) {
  const char* end = text.data() + text.size();
  Number parsed{};
  const auto result = std::from_chars(text.data(), end, parsed);
  if (text.empty() || result.ec != std::errc() || result.ptr != end || !(parsed >= least) ||
      !(parsed <= most)) {
    return false;
  }
  number = parsed;
  return true;
}

// The values of an option, and what they are called.
template <class Value, std::size_t n>
using Names = std::array<std::pair<Value, std::string_view>, n>;

constexpr Names<Mode, 3> kModes{{{Mode::on, "on"}, {Mode::off, "off"}, {Mode::observe, "observe"}}};
constexpr Names<MeasurePolicy, 2> kPolicies{
    {{MeasurePolicy::never, "never"}, {MeasurePolicy::automatic, "auto"}}};
constexpr Names<Carrier, 4> kCarriers{
    {{Carrier::automatic, "auto"}, {Carrier::mpi, "mpi"}, {Carrier::tcp, "tcp"}, {Carrier::ucx, "ucx"}}};

template <class Value, std::size_t n>
bool set_by_name(const Names<Value, n>& names, const std::string& text, Value& value) {
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.second == text; });
  if (found == names.end()) return false;
  value = found->first;
  return true;
}

template <class Value, std::size_t n>
std::string_view name_of(const Names<Value, n>& names, Value value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.first == value; })
      ->second;
}

// The shortest text that is read back as this number.
std::string number_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

// Each once; none with a blank, which stands between them where ranks exchange them.
bool set_rails(const std::string& text, Options& options) {
  options.rails = words_of(text);
  for (auto each = options.rails.begin(); each != options.rails.end(); ++each) {
    if (each->empty() || each->find_first_of(" \t\n") != std::string::npos) return false;
    if (std::find(options.rails.begin(), each, *each) != each) return false;
  }
  return true;
}

bool set_late(const std::string& text, Options& options) {
  const bool is_auto = text == "auto";
  options.late = is_auto ? late::Plan::mended : late::plan_from_name(text);
  options.forming = is_auto ? Forming::where_it_pays : Forming::always;
  return options.late || text == "off";
}

std::string late_text(const Options& options) {
  if (!options.late) return "off";
  return options.forming == Forming::where_it_pays ? "auto" : std::string(late::name(*options.late));
}

bool set_ambient(const std::string& text, Options& options) {
  options.ambient.reset();
  if (text == "auto") options.ambient = Following::where_it_pays;
  if (text == "always") options.ambient = Following::always;
  return options.ambient || text == "off";
}

std::string ambient_text(const Options& options) {
  return !options.ambient ? "off" : options.ambient == Following::always ? "always" : "auto";
}

bool parse_switch(const std::string& text, bool& on) {
  if (text != "0" && text != "1") return false;
  on = text == "1";
  return true;
}

constexpr int kMostCalls = 1000000000;

bool set_arm_after(const std::string& text, Options& options) {
  options.arm_after.reset();
  return text == "auto" || parse_number(text, 0, kMostCalls, options.arm_after.emplace());
}

bool set_disable(const std::string& text, Options& options) {
  std::vector<std::string> names = words_of(text);
  for (const std::string& name : names) {
    if (name == kTopology || coll::collective_from_name(name)) continue;
    std::string known(kTopology);
    for (const coll::Collective collective : coll::all_collectives())
      known += ", " + std::string(coll::name(collective));
    throw InvalidArgument("ECO_DISABLE='" + text + "': there is no '" + name + "'; names are " + known);
  }
  // Sorted, so that the order in which they were typed makes no difference between ranks.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  options.disable = std::move(names);
  return true;
}

// A day is longer than any measurement or any useful warning.
constexpr double kMostSeconds = 86400;
// Beyond this many the libraries' own context ids run out, whatever ECO does.
constexpr int kMostCommunicators = 65536;
constexpr const char* kSiteDirectory = "/var/lib/eco";
// What begins so is for commands, the lab and the tests; programs may meet it in their environment.
constexpr std::array<std::string_view, 3> kOfTools = {"ECO_NATIVE_DIR", "ECO_LAB", "ECO_TEST_"};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> table = {
      {{"ECO", "on|off|observe",
        "off: the program runs as if ECO were not there; observe: native calls are timed"},
       [](const std::string& text, Options& o) { return set_by_name(kModes, text, o.mode); },
       [](const Options& o) { return std::string(name_of(kModes, o.mode)); }},
      {{"ECO_NETWORK", "FILE", "the network as measured, instead of the remembered one of these hosts"},
       [](const std::string& text, Options& o) { return o.network_file = text, !text.empty(); }},
      {{"ECO_PLAN", "FILE[:FILE...]",
        "the decision table to use as it is, instead of a remembered or new one; of several the one that is "
        "for "
        "a communicator's hosts, or for as many ranks"},
       [](const std::string& text, Options& o) { return o.plan_file = text, !text.empty(); }},
      {{"ECO_CACHE_DIR", "DIR", "where networks and plans are remembered (the user's cache directory)"},
       [](const std::string& text, Options& o) { return o.cache_dir = text, !text.empty(); }},
      {{"ECO_SITE_DIR", "DIR",
        "networks that all users share (/var/lib/eco): read, and written where it lets us; none if there is "
        "no "
        "such directory"},
       [](const std::string& text, Options& o) { return o.site_dir = text, !text.empty(); }},
      {{"ECO_SENTINELS", "0|1", "0: a remembered network is used without a look whether hosts have moved"},
       [](const std::string& text, Options& o) { return parse_switch(text, o.sentinels); }},
      {{"ECO_HOST_ID", "TEXT", "replaces boot id and network namespace when a host is recognised again"},
       [](const std::string& text, Options& o) { return o.host_id = text, !text.empty(); }},
      {{"ECO_TRANSPORT", "auto|mpi|tcp|ucx",
        "what carries ECO's messages: the MPI library's point-to-point, plain TCP, or UCX (TCP where that "
        "can't be); auto: TCP for what uses several rails, where hosts have several"},
       [](const std::string& text, Options& o) { return set_by_name(kCarriers, text, o.carrier); },
       [](const Options& o) { return std::string(name(o.carrier)); }},
      {{"ECO_RAILS", "NAME,...",
        "the interfaces (or addresses; for UCX also devices, mlx5_0:1) that are used on every host, one for "
        "each rail; else the networks that hosts have in common"},
       set_rails,
       [](const Options& o) { return joined(o.rails); }},
      {{"ECO_MEASURE", "never|auto", "may a job measure what is not remembered (auto)"},
       [](const std::string& text, Options& o) { return set_by_name(kPolicies, text, o.measure); },
       [](const Options& o) { return std::string(name_of(kPolicies, o.measure)); }},
      {{"ECO_BUDGET", "SECONDS",
        "for measuring in a job, all communicators together (5), and 5 % of what its calls take, 25 % of "
        "what those take that wait for a plan; 0: no limit"},
       [](const std::string& text, Options& o) { return parse_number(text, 0.0, kMostSeconds, o.budget_s); },
       [](const Options& o) { return number_text(o.budget_s); }},
      {{"ECO_MAX_COMMUNICATORS", "0..65536",
        "communicators with ECO under them at a time (4096); the rest is native"},
       [](const std::string& text, Options& o) {
         return parse_number(text, 0, kMostCommunicators, o.max_communicators);
       },
       [](const Options& o) { return std::to_string(o.max_communicators); }},
      {{"ECO_ARM_AFTER", "auto|0..1000000000",
        "calls of a communicator that stay native before it is armed; auto: until they took far longer than "
        "arming "
        "does (MPI_COMM_WORLD: 31 short ones; none where there is a number, or ECO_PLAN)"},
       set_arm_after,
       [](const Options& o) { return o.arm_after ? std::to_string(*o.arm_after) : std::string("auto"); }},
      {{"ECO_DISABLE", "NAME,...",
        "collectives that stay native: broadcast, reduce_scatter, neighbor_allgather, ...; topology: ranks "
        "stay in order"},
       set_disable,
       [](const Options& o) { return joined(o.disable); }},
      {{"ECO_REPORT", "FILE", "what was served and passed, as JSON, at exit"},
       [](const std::string& text, Options& o) { return o.report_file = text, !text.empty(); }},
      {{"ECO_PROFILE", "FILE", "calls, bytes and seconds of all ranks, as JSON, at exit: for eco profile"},
       [](const std::string& text, Options& o) { return o.profile_file = text, !text.empty(); }},
      {{"ECO_QUIET", "0|1", "1: no line at exit"},
       [](const std::string& text, Options& o) { return parse_switch(text, o.quiet); }},
      {{"ECO_STALL", "SECONDS", "say who is awaited after this long without progress (60); 0: never"},
       [](const std::string& text, Options& o) { return parse_number(text, 0.0, kMostSeconds, o.stall_s); }},
      {{"ECO_STALL_SIGNAL", "0|1",
        "1: SIGUSR1 makes a rank say who is awaited, if nobody else has a use for it; 0: it is left alone "
        "(0)"},
       [](const std::string& text, Options& o) { return parse_switch(text, o.stall_signal); }},
      {{"ECO_LATE", "off|auto|mended|depth_first|depth_first_ahead|breadth_first|breadth_first_ahead",
        "mended: broadcast, reduce, allreduce, gather, scatter and allgather go around ranks that have not "
        "come, who are served when they do; auto: so they do where ranks come late by more than the call "
        "takes, or the library serves, whichever ranks are in for less; the others: a broadcast's tree is "
        "filled in the order of arrival (off)"},
       set_late,
       late_text},
      {{"ECO_ANY_ORDER", "0|1",
        "1: under ECO_LATE also reductions of floating-point numbers and by a program's own commutative "
        "operations are combined in the order in which ranks come: results may differ in the last bits from "
        "call to call (0)"},
       [](const std::string& text, Options& o) { return parse_switch(text, o.any_order); },
       [](const Options& o) { return std::string(o.any_order ? "1" : "0"); }},
      {{"ECO_AMBIENT", "off|auto|always",
        "auto: where calls steadily take longer than they did, ranks look which links carry traffic of "
        "others, and recipes that are faster beside it serve until it is gone; at most 2 % of the calls' "
        "time, 4 % while others serve; always, for tests: others serve now and then, needed or not (off)"},
       set_ambient,
       ambient_text},
      {{"ECO_CHECK", "none|communication",
        "communication: before each collective call its ranks compare what they call, and a difference is an "
        "error that names them (none)"},
       [](const std::string& text, Options& o) {
         o.compare_calls = text == "communication";
         return o.compare_calls || text == "none";
       },
       [](const Options& o) { return std::string(o.compare_calls ? "communication" : "none"); }},
  };
  return table;
}

// As python/eco/paths.py has it. Empty, so nothing is remembered, for a process that has no home.
std::string user_cache(const std::function<std::optional<std::string>(std::string_view variable)>& lookup) {
  const std::optional<std::string> base = lookup("XDG_CACHE_HOME");
  // The XDG specification ignores a relative path.
  if (base && base->starts_with('/')) return *base + "/eco";
  const std::optional<std::string> home = lookup("HOME");
  return home && home->starts_with('/') ? *home + "/.cache/eco" : std::string();
}

}  // namespace

std::string_view name(Carrier carrier) { return name_of(kCarriers, carrier); }

bool Options::is_disabled(std::string_view name) const {
  return std::find(disable.begin(), disable.end(), name) != disable.end();
}

std::string Options::agreed_text() const {
  std::string text;
  for (const Entry& entry : entries()) {
    if (entry.agreed != nullptr) text += std::string(entry.doc.variable) + '=' + entry.agreed(*this) + '\n';
  }
  return text;
}

std::uint64_t Options::agreed_digest() const { return std::stoull(base::digest(agreed_text()), nullptr, 16); }

const std::vector<OptionDoc>& option_docs() {
  static const std::vector<OptionDoc> docs = [] {
    std::vector<OptionDoc> list;
    for (const Entry& entry : entries()) list.push_back(entry.doc);
    return list;
  }();
  return docs;
}

std::vector<std::string> unknown_variables(const std::vector<std::string>& names) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    const auto is_option = [&](const Entry& entry) { return entry.doc.variable == name; };
    const auto is_tools = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (!name.starts_with("ECO_") || std::any_of(entries().begin(), entries().end(), is_option)) continue;
    if (std::none_of(kOfTools.begin(), kOfTools.end(), is_tools)) unknown.push_back(name);
  }
  return unknown;
}

Options parse_options(const std::function<std::optional<std::string>(std::string_view variable)>& lookup) {
  Options options;
  options.site_dir = kSiteDirectory;
  options.cache_dir = user_cache(lookup);
  for (const Entry& entry : entries()) {
    const std::optional<std::string> text = lookup(entry.doc.variable);
    // `export ECO_NETWORK=` is how shells spell "not set".
    if (!text || text->empty()) continue;
    if (!entry.apply(*text, options)) {
      throw InvalidArgument(std::string(entry.doc.variable) + "='" + *text + "': expected " +
                            std::string(entry.doc.values) + " (" + std::string(entry.doc.meaning) + ")");
    }
  }
  return options;
}

}  // namespace eco::runtime
