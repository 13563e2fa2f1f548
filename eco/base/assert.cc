#include "eco/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace eco {

void assertion_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "eco: %s:%d: %s (%s)\n", file, line, message, condition);
  std::abort();
}

}  // namespace eco
