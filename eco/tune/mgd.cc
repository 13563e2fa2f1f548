#include <utility>

#include "eco/tune/descent.h"

namespace eco::tune {

Tuned mgd(const Space& space, const Oracle& oracle, const SearchOptions& options) {
  Notes notes(space, oracle);
  for (std::size_t m = 0; m < space.forms.size(); ++m) {
    Descent descent(notes, m, space.forms[m].points.size(), options);
    while (!descent.ended()) {
      if (!descent.step()) return std::move(notes).result("no time left");
    }
  }
  return std::move(notes).result("every form has passed its minimum");
}

}  // namespace eco::tune
