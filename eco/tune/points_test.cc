#include "eco/tune/points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "eco/algo/algorithm.h"
#include "eco/plan/testing.h"

namespace eco::tune {
namespace {

using coll::Collective;

const FormRecipes* find(const std::vector<FormRecipes>& forms, const std::string& name) {
  const auto found = std::find_if(forms.begin(), forms.end(),
                                  [&](const FormRecipes& one) { return one.name.starts_with(name + " "); });
  return found == forms.end() ? nullptr : &*found;
}

std::vector<std::size_t> segments_of(const FormRecipes& form) {
  std::vector<std::size_t> segments;
  for (const algo::Recipe& recipe : form.recipes) segments.push_back(recipe.params.segment_bytes);
  return segments;
}

TEST(Points, AChainHasTheWholeMessageAndItsHalvesDownToTheLeastSegment) {
  const auto view = plan::view_of(plan::kThreeSubnets);
  const auto forms = all_forms(plan::problem_of(Collective::broadcast, 1024, view), view, 64);
  const FormRecipes* chain = find(forms, "broadcast/chain");
  ASSERT_NE(chain, nullptr);
  EXPECT_EQ(segments_of(*chain), (std::vector<std::size_t>{0, 512, 256, 128, 64}));
}

TEST(Points, SegmentsThatAreAsLongAsWhatIsCutAreTheWholeOnceMore) {
  const auto view = plan::view_of(plan::kThreeSubnets);
  const auto forms = all_forms(plan::problem_of(Collective::scatter, 8192, view), view, 256);
  const FormRecipes* flat = find(forms, "scatter/flat");
  ASSERT_NE(flat, nullptr);
  // Every rank's block is 1024 bytes.
  EXPECT_EQ(segments_of(*flat), (std::vector<std::size_t>{0, 512, 256}));
}

TEST(Points, EveryRecipeFitsAndNoneIsThereTwice) {
  const auto view = plan::view_of(plan::kThreeSubnets);
  for (const Collective collective : coll::all_collectives()) {
    const auto problem = plan::problem_of(collective, 4096, view);
    std::set<std::string> texts;
    std::set<std::string> names;
    for (const FormRecipes& form : all_forms(problem, view)) {
      EXPECT_TRUE(names.insert(form.name).second) << form.name;
      for (const algo::Recipe& recipe : form.recipes) {
        EXPECT_EQ(algo::why_not(recipe, problem, view), std::nullopt) << recipe.text();
        EXPECT_TRUE(texts.insert(recipe.text()).second) << recipe.text();
      }
    }
    EXPECT_FALSE(names.empty()) << coll::name(collective);
  }
}

TEST(Points, EveryAlgorithmThatServesTakesPart) {
  const auto view = plan::view_of(plan::kThreeSubnets);
  for (const Collective collective : {Collective::broadcast, Collective::scatter, Collective::allreduce}) {
    const auto problem = plan::problem_of(collective, 65536, view);
    const auto forms = all_forms(problem, view, 1024);
    for (const algo::Algorithm& algorithm : algo::registry()) {
      if (algorithm.collective != collective || algorithm.why_not(problem, view)) continue;
      EXPECT_NE(find(forms, algorithm.name), nullptr) << algorithm.name;
    }
  }
}

}  // namespace
}  // namespace eco::tune
