#include "eco/runtime/options.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "eco/base/errors.h"

namespace eco::runtime {
namespace {

Options parse(const std::map<std::string, std::string>& environment) {
  return parse_options([&](std::string_view variable) -> std::optional<std::string> {
    const auto found = environment.find(std::string(variable));
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Options, EveryCarrierHasItsName) {
  for (const std::string text : {"auto", "mpi", "tcp", "ucx"}) {
    const Options options = parse({{"ECO_TRANSPORT", text}});
    EXPECT_EQ(name(options.carrier), text);
    EXPECT_EQ(options.is_beside_mpi(), text == "tcp" || text == "ucx");
  }
}

TEST(Options, AreOnByDefault) {
  const Options options = parse({});
  EXPECT_EQ(options.mode, Mode::on);
  EXPECT_EQ(options.budget_s, 5);
  EXPECT_EQ(options.arm_after, std::nullopt);
  EXPECT_TRUE(options.disable.empty());
  EXPECT_TRUE(options.sentinels);
  EXPECT_FALSE(options.stall_signal) << "batch systems end ranks by it";
  EXPECT_EQ(options.site_dir, "/var/lib/eco");
  EXPECT_EQ(Options().site_dir, "") << "who does not ask the environment shares nothing";
}

TEST(Options, ReadEveryVariable) {
  const Options options =
      parse({{"ECO", "observe"},        {"ECO_NETWORK", "n.json"},
             {"ECO_PLAN", "p.json"},    {"ECO_CACHE_DIR", "c"},
             {"ECO_SITE_DIR", "s"},     {"ECO_SENTINELS", "0"},
             {"ECO_HOST_ID", "h"},      {"ECO_MEASURE", "never"},
             {"ECO_BUDGET", "2.5"},     {"ECO_MAX_COMMUNICATORS", "7"},
             {"ECO_ARM_AFTER", "0"},    {"ECO_DISABLE", "broadcast,topology,allreduce,broadcast"},
             {"ECO_TRANSPORT", "tcp"},  {"ECO_RAILS", "eth0,10.78.0.1"},
             {"ECO_REPORT", "r.json"},  {"ECO_PROFILE", "f.json"},
             {"ECO_QUIET", "1"},        {"ECO_STALL", "0"},
             {"ECO_STALL_SIGNAL", "1"}, {"ECO_CHECK", "communication"}});
  EXPECT_EQ(options.mode, Mode::observe);
  EXPECT_EQ(options.carrier, Carrier::tcp);
  EXPECT_EQ(options.rails, (std::vector<std::string>{"eth0", "10.78.0.1"}));
  EXPECT_EQ(options.network_file, "n.json");
  EXPECT_EQ(options.plan_file, "p.json");
  EXPECT_EQ(options.cache_dir, "c");
  EXPECT_EQ(options.site_dir, "s");
  EXPECT_FALSE(options.sentinels);
  EXPECT_EQ(options.host_id, "h");
  EXPECT_EQ(options.measure, MeasurePolicy::never);
  EXPECT_EQ(options.budget_s, 2.5);
  EXPECT_EQ(options.max_communicators, 7);
  EXPECT_EQ(options.arm_after, 0);
  EXPECT_EQ(options.disable, (std::vector<std::string>{"allreduce", "broadcast", "topology"}));
  EXPECT_TRUE(options.is_disabled("broadcast"));
  EXPECT_FALSE(options.is_disabled("barrier"));
  EXPECT_TRUE(options.is_disabled(kTopology));
  EXPECT_EQ(options.report_file, "r.json");
  EXPECT_EQ(options.profile_file, "f.json");
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.stall_s, 0);
  EXPECT_TRUE(options.stall_signal);
  EXPECT_TRUE(options.compare_calls);
}

TEST(Options, ArmWhenItPaysUnlessToldWhen) {
  EXPECT_EQ(parse({{"ECO_ARM_AFTER", "auto"}}).arm_after, std::nullopt);
}

TEST(Options, AnEmptyVariableIsNotSet) { EXPECT_EQ(parse({{"ECO", ""}, {"ECO_BUDGET", ""}}).mode, Mode::on); }

TEST(Options, RefuseWhatTheyDoNotKnow) {
  const std::pair<std::string, std::string> cases[] = {
      {"ECO", "yes"},           {"ECO_BUDGET", "-1"},     {"ECO_BUDGET", "nan"},
      {"ECO_BUDGET", "5s"},     {"ECO_ARM_AFTER", "1.5"}, {"ECO_ARM_AFTER", "-1"},
      {"ECO_DISABLE", "bcast"}, {"ECO_DISABLE", ","},     {"ECO_QUIET", "true"},
      {"ECO_SENTINELS", "off"}, {"ECO_STALL", "1e9"},     {"ECO_MAX_COMMUNICATORS", "99999999999"},
      {"ECO_CHECK", "1"}};
  for (const auto& [variable, value] : cases) {
    try {
      parse({{variable, value}});
      FAIL() << variable << "=" << value << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(variable + "='" + value + "'"), std::string::npos)
          << error.what();
    }
  }
}

// A value of each that is not the default's, and whether all ranks must have the same. Files are read by one rank alone;
// some only diagnose, some differ between hosts by design.
struct OfOneRank {
  const char* value;
  bool is_agreed;
};
const std::map<std::string, OfOneRank> kOfOneRank = {
    {"ECO", {"observe", true}},
    {"ECO_NETWORK", {"n.json", false}},
    {"ECO_PLAN", {"p.json", false}},
    {"ECO_CACHE_DIR", {"/c", false}},
    {"ECO_SITE_DIR", {"/s", false}},
    {"ECO_SENTINELS", {"0", false}},
    {"ECO_HOST_ID", {"host-3", false}},
    {"ECO_TRANSPORT", {"tcp", true}},
    {"ECO_RAILS", {"eth0,eth1", true}},
    {"ECO_MEASURE", {"never", true}},
    {"ECO_BUDGET", {"2.5", true}},
    {"ECO_MAX_COMMUNICATORS", {"7", true}},
    {"ECO_ARM_AFTER", {"0", true}},
    {"ECO_DISABLE", {"barrier,broadcast", true}},
    {"ECO_REPORT", {"r.json", false}},
    {"ECO_PROFILE", {"f.json", false}},  // counted where all have it: preload/backend/session.cc
    {"ECO_QUIET", {"1", false}},
    {"ECO_STALL", {"3", false}},
    {"ECO_STALL_SIGNAL", {"1", false}},
    {"ECO_LATE", {"mended", true}},
    {"ECO_ANY_ORDER", {"1", true}},
    {"ECO_AMBIENT", {"auto", true}},
    {"ECO_CHECK", {"communication", true}},  // or some would wait for the others
};

TEST(Options, AreAgreedOrMayDiffer) {
  const Options plain = parse({});
  for (const OptionDoc& doc : option_docs()) {
    const auto known = kOfOneRank.find(std::string(doc.variable));
    ASSERT_NE(known, kOfOneRank.end()) << doc.variable << ": may it differ between ranks?";
    const auto& [variable, set] = *known;
    const Options options = parse({{variable, set.value}});
    EXPECT_EQ(options.agreed_text() != plain.agreed_text(), set.is_agreed) << variable;
    EXPECT_EQ(options.agreed_digest() != plain.agreed_digest(), set.is_agreed) << variable;
    // What is written can be set, and is then the same again.
    const std::size_t at = options.agreed_text().find(variable + "=");
    if (!set.is_agreed) continue;
    ASSERT_NE(at, std::string::npos) << variable;
    const std::string line = options.agreed_text().substr(at, options.agreed_text().find('\n', at) - at);
    const std::string value = line.substr(variable.size() + 1);
    EXPECT_EQ(parse({{variable, value}}).agreed_text(), options.agreed_text()) << line;
  }
}

TEST(Options, AreAgreedByWhatTheyMean) {
  const std::uint64_t digest = parse({}).agreed_digest();
  for (const auto& [variable, value] :
       {std::pair("ECO_CHECK", "none"), std::pair("ECO_LATE", "off"), std::pair("ECO_AMBIENT", "off"),
        std::pair("ECO_BUDGET", "5.0"), std::pair("ECO_ARM_AFTER", "auto")})
    EXPECT_EQ(parse({{variable, value}}).agreed_digest(), digest) << variable;
  EXPECT_EQ(parse({{"ECO_DISABLE", "barrier,broadcast"}}).agreed_digest(),
            parse({{"ECO_DISABLE", "broadcast,barrier"}}).agreed_digest());
  EXPECT_NE(parse({{"ECO_AMBIENT", "always"}}).agreed_digest(),
            parse({{"ECO_AMBIENT", "auto"}}).agreed_digest());
  EXPECT_NE(parse({{"ECO_LATE", "auto"}}).agreed_digest(), parse({{"ECO_LATE", "mended"}}).agreed_digest());
}

TEST(Options, NamesThatAreNoneAreFound) {
  std::vector<std::string> names = {"PATH",           "ECOLOGY", "ECO_NETWROK", "ECO_LAB_IDLE_US",
                                    "ECO_NATIVE_DIR", "ECO_"};
  for (const OptionDoc& doc : option_docs()) names.emplace_back(doc.variable);
  EXPECT_EQ(unknown_variables(names), (std::vector<std::string>{"ECO_NETWROK", "ECO_"}));
}

TEST(Options, AreDocumentedOnce) {
  EXPECT_EQ(option_docs().size(), 23u);
  for (const OptionDoc& doc : option_docs()) {
    EXPECT_FALSE(doc.values.empty()) << doc.variable;
    EXPECT_FALSE(doc.meaning.empty()) << doc.variable;
  }
}

TEST(Options, RememberInTheUsersCache) {
  const auto cache_with = [](const std::map<std::string, std::string>& set) {
    return parse_options([&](std::string_view variable) -> std::optional<std::string> {
             const auto found = set.find(std::string(variable));
             return found == set.end() ? std::nullopt : std::optional(found->second);
           })
        .cache_dir;
  };
  EXPECT_EQ(cache_with({{"HOME", "/home/a"}}), "/home/a/.cache/eco");
  EXPECT_EQ(cache_with({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/var/c"}}), "/var/c/eco");
  EXPECT_EQ(cache_with({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "relative"}}), "/home/a/.cache/eco");
  EXPECT_EQ(cache_with({{"HOME", "/home/a"}, {"ECO_CACHE_DIR", "/mine"}}), "/mine");
  EXPECT_EQ(cache_with({}), "");
}

}  // namespace
}  // namespace eco::runtime
