// The date as files have it. Local; reads the clock.
#pragma once

#include <string>

namespace eco::base {

// "2026-11-21T02:00:00Z"
std::string now_iso8601();

}  // namespace eco::base
