#include "eco/tune/searches.h"

#include <array>

namespace eco::tune {

std::span<const Search> searches() {
  static constexpr std::array kAll = {Search{"linear", linear}, Search{"mgd", mgd}, Search{"smgd", smgd}};
  return kAll;
}

const Search* find_search(std::string_view name) {
  for (const Search& search : searches()) {
    if (search.name == name) return &search;
  }
  return nullptr;
}

}  // namespace eco::tune
