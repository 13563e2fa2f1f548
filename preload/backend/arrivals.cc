#include "preload/backend/arrivals.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "preload/backend/profile.h"

namespace eco::preload {

Arrivals::Of* Arrivals::of_ranks(const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Of>& of = groups_[ranks];
  if (!of) of = std::make_unique<Of>(*this, groups_.size() - 1);
  return of.get();
}

void Arrivals::note(Of& of, int operation, std::size_t bytes, std::uint64_t began_ns,
                    std::uint64_t took_ns) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = of.n_calls_++;
  if (number % stride_ != 0) return;
  if (calls_.size() == kMost) {
    // Where there are as many communicators as room, their first calls stay, and nothing makes any more.
    if (stride_ == kMostStride) return;
    stride_ *= 2;
    std::erase_if(calls_, [this](const Call& call) { return call.number % stride_ != 0; });
    if (calls_.size() == kMost || number % stride_ != 0) return;
  }
  try {
    calls_.push_back({of.group_, number, operation, bytes, began_ns, took_ns});
  } catch (const std::exception&) {
    return;
  }
}

nlohmann::json Arrivals::to_json() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<int>> groups(groups_.size());
  for (const auto& [ranks, of] : groups_) groups[of->group_] = ranks;
  nlohmann::json calls = nlohmann::json::array();
  for (const Call& call : calls_) {
    calls.push_back({call.group, call.number, std::string(Profile::name_of(call.operation)), call.bytes,
                     call.began_ns, call.took_ns});
  }
  return {{"stride", stride_}, {"groups", std::move(groups)}, {"calls", std::move(calls)}};
}

}  // namespace eco::preload
