#include "preload/backend/call_checks.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace eco::preload {

void CallChecks::close() {
  checks_.clear();
  if (is_open()) PMPI_Comm_free(&over_);
}

void CallChecks::add(std::shared_ptr<CallCheck> check) {
  const std::lock_guard lock(busy_);
  sweep();
  checks_.push_back(std::move(check));
}

void CallChecks::sweep() {
  std::erase_if(checks_, [](const auto& check) { return check->is_forgotten() && !check->is_pending(); });
}

void CallChecks::advance() noexcept {
  MPI_Comm told = MPI_COMM_NULL;
  {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return;
    for (const std::shared_ptr<CallCheck>& check : checks_) {
      if (!check->is_pending()) continue;
      check->advance();
      if (check->differs() && told == MPI_COMM_NULL) told = check->take_comm_to_tell();
    }
  }
  // The program's handler may call whatever it likes, or end the job.
  if (told != MPI_COMM_NULL) PMPI_Comm_call_errhandler(told, MPI_ERR_OTHER);
}

bool CallChecks::may_be_pending() {
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock) return true;
  return std::any_of(checks_.begin(), checks_.end(), [](const auto& check) { return check->is_pending(); });
}

void CallChecks::drain() {
  for (advance(); may_be_pending(); advance()) {
    int is_there = 0;  // nothing ever is: the library makes progress
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, over_, &is_there, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace eco::preload
