// What one rank does by itself: copying and reducing. Local.
#pragma once

#include "eco/measure/characterize.h"

namespace eco::measure {

// Bytes per second of copying from one buffer to another, as ranks of one host do through shared memory.
double copy_rate(const Clock& clock);
// Bytes per second of adding one array of doubles to another.
double combine_rate(const Clock& clock);

}  // namespace eco::measure
