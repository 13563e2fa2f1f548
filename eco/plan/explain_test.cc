#include "eco/plan/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "eco/plan/ranking.h"
#include "eco/plan/testing.h"

namespace eco::plan {
namespace {

using coll::Collective;
using coll::CommonProblem;

TEST(Explain, NamesEveryCandidate) {
  const auto& [view, problem, ranked] = Megabyte();
  Row row;
  row.up_to_bytes = 1 << 20;
  row.recipe =
      algo::parse_recipe("broadcast/subnets segment=8624 window=0 between=chain inside=chain order=0,1,2");
  row.measured_s = 0.24;
  row.native_s = 1.1;
  const std::string text = explain(problem, view, &row, ranked);
  EXPECT_EQ(text.rfind("broadcast of 1 MiB from rank 0 over 8 ranks, 3+3+2 switched\n", 0), 0u) << text;
  EXPECT_NE(text.find("the table says: " + row.recipe->text()), std::string::npos) << text;
  EXPECT_NE(text.find("native 1100.0 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("cheapest; busiest: uplink 0 out"), std::string::npos) << text;
  EXPECT_NE(text.find("slower ones"), std::string::npos);
  const Candidate& worst = *std::find_if(
      ranked.rbegin(), ranked.rend(), [](const Candidate& candidate) { return candidate.why_not.empty(); });
  EXPECT_NE(why_it_lost(worst, ranked.front()).find("%"), std::string::npos)
      << why_it_lost(worst, ranked.front());
}

TEST(Explain, SaysOnceWhyNothingIsPossible) {
  const net::GroupView view = view_of("hosts=4");
  const CommonProblem problem = problem_of(Collective::broadcast, 0, view);
  const std::string text = explain(problem, view, nullptr);
  EXPECT_NE(text.find("\nno algorithm: there is nothing to send\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("not possible"), std::string::npos) << text;
}

TEST(Explain, SaysWhatGoesOverRails) {
  net::Network network = *view_of("hosts=4 rate_mbit=40 rail_mbit=40").network;
  network.rails = {"10.1.0.0/24", "10.2.0.0/24"};
  network.more_rails[0].name = "10.2.0.0/24";
  const net::GroupView view = net::make_view(std::make_shared<const net::Network>(network), {0, 1, 2, 3});
  const CommonProblem problem = problem_of(Collective::broadcast, 1 << 20, view);
  const std::string text = explain(problem, view, nullptr, {});
  EXPECT_NE(text.find("\n2 rails (10.1.0.0/24, 10.2.0.0/24): under MPI, recipes over them go over TCP"),
            std::string::npos)
      << text;
}

TEST(Explain, NamesPredictionsThatTheirClosedFormsContradict) {
  const net::GroupView view = view_of(kEco1995);
  const CommonProblem problem = problem_of(Collective::broadcast, 1 << 20, view);
  const auto of = [&](const char* recipe) {
    return explain(problem, view, nullptr, {candidate_of(algo::parse_recipe(recipe), problem, view)});
  };
  const std::string chain = of("broadcast/chain segment=8624");
  EXPECT_NE(chain.find("check: its closed form (P-1) (g(s) + L) + g(s) (k-1) says "), std::string::npos)
      << chain;
  EXPECT_EQ(of("broadcast/flat").find("check:"), std::string::npos);
}

}  // namespace
}  // namespace eco::plan
