// The searches of the 2000 paper (Vadhiyar, Fagg, Dongarra: Automatically Tuned Collective Communications), without a model.
//
//   find_search("smgd")->search(space, oracle, {.repeats = 10})
//
// They know nothing of a space but its forms and segments. `guided.h` is ECO's own.
#pragma once

#include <span>
#include <string_view>

#include "eco/tune/tuning.h"

namespace eco::tune {

struct SearchOptions {
  int repeats = 10;  // runs of a point; the paper's (its Table 10 counts 10 iterations for each)
  // MGD "had to be modified to look beyond the first minimum found": so many points, each as slow as it or slower, end a
  // descent. With 2, four forms take 12 points where the whole message is best, and 28 where 8 KiB of 128 KiB are; the
  // paper's Table 10 has 16 and 28.
  int look_beyond = 2;
  // SMGD: a form whose scanned points are all so many times slower than the best form's is rejected.
  double reject_times = 4;
};

// Phase one and two of section 3: every segment size of every form, then the best form. (Phase three is to repeat this for
// every number of processes; a space is for one.)
Tuned linear(const Space& space, const Oracle& oracle, const SearchOptions& options);

// Section 4.2, Modified Gradient Descent: each form from its largest segment downwards, until the time has not fallen for a
// while.
Tuned mgd(const Space& space, const Oracle& oracle, const SearchOptions& options);

// Section 4.2, Scanning MGD: "a combination linear search and MGD, where the order of the MGD search is controlled by a sorting
// of current optimal values and rates of change of gradients"; with a threshold for forms that are hopeless.
Tuned smgd(const Space& space, const Oracle& oracle, const SearchOptions& options);

struct Search {
  std::string_view name;
  Tuned (*search)(const Space& space, const Oracle& oracle, const SearchOptions& options);
};

std::span<const Search> searches();
// nullptr if there is none.
const Search* find_search(std::string_view name);

}  // namespace eco::tune
