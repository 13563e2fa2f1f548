#include <utility>

#include "eco/tune/searches.h"

namespace eco::tune {

Tuned linear(const Space& space, const Oracle& oracle, const SearchOptions& options) {
  Notes notes(space, oracle);
  for (std::size_t m = 0; m < space.forms.size(); ++m) {
    for (std::size_t p = 0; p < space.forms[m].points.size(); ++p) {
      if (!notes.ask({m, p}, options.repeats)) return std::move(notes).result("no time left");
    }
  }
  return std::move(notes).result("all measured");
}

}  // namespace eco::tune
