// The registry's rows that are composed of others.
#pragma once

#include <vector>

#include "eco/algo/algorithm.h"

namespace eco::algo {

void add_compositions(std::vector<Algorithm>& all);

}  // namespace eco::algo
