#include "eco/runtime/abandoned.h"

#include <mutex>
#include <utility>
#include <vector>

namespace eco::runtime {

void keep_until_exit(std::shared_ptr<void> memory) {
  // Never destroyed itself: a transport's thread may run as long as the process.
  static auto* kept = new std::vector<std::shared_ptr<void>>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

}  // namespace eco::runtime
