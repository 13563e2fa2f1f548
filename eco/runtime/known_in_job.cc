#include "eco/runtime/known_in_job.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "eco/base/json_file.h"

namespace eco::runtime {
namespace {

// A program makes copies and a few partitions of its processes; whoever makes more arms the old ones from nothing.
constexpr std::size_t kMostGroups = 64;
constexpr std::size_t kMostLooks = 64;
// Until one was armed: reading, parsing and some fifteen agreements, as they were then, measured as 5 to 150 ms (2 and 4 ranks
// on 2 cores, both libraries); as a known group two of the six that are left remain.
constexpr double kArmingGuess_s = 0.02;
constexpr double kKnownPart = 1.0 / 3;

template <class List>
void keep_newest(List& list, std::size_t most) {
  while (list.size() > most) list.pop_front();
}

}  // namespace

bool KnownGroup::leaves_native(const coll::CommonProblem& call) const {
  const auto serves = [](const plan::Row* row) { return row != nullptr && row->recipe; };
  if (serves(table.find_row(coll::Collective::barrier, 0, 0))) return false;
  const int n_classes = coll::is_rooted(call.collective) ? view.n_subnets() : 1;
  for (int root_subnet = 0; root_subnet < n_classes; ++root_subnet) {
    const plan::Row* const row = table.find_row(call.collective, root_subnet, call.bytes);
    const bool is_known = planned.knows(call, root_subnet) || (row != nullptr && row->stands());
    if (!is_known || serves(row)) return false;
  }
  return true;
}

double KnownGroup::gain_s(const coll::CommonProblem& problem) const {
  return table.gain(problem, view).seconds;
}

bool KnownInJob::has_looked_after(const std::vector<net::HostId>& hosts) const {
  const std::vector<net::HostId> wanted = net::host_set(hosts);
  const std::lock_guard lock(mutex_);
  return std::any_of(looked_after_.begin(), looked_after_.end(),
                     [&](const auto& look) { return std::ranges::includes(look, wanted); });
}

void KnownInJob::looked_after(std::vector<net::HostId> hosts) {
  std::vector<net::HostId> look = net::host_set(std::move(hosts));
  const std::lock_guard lock(mutex_);
  std::erase_if(looked_after_, [&](const auto& earlier) { return std::ranges::includes(look, earlier); });
  looked_after_.push_back(std::move(look));
  keep_newest(looked_after_, kMostLooks);
}

std::shared_ptr<const KnownGroup> KnownInJob::find(const std::vector<int>& ranks) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [of, group] : groups_) {
    if (of == ranks) return group;
  }
  return nullptr;
}

void KnownInJob::remember(const std::vector<int>& ranks, std::shared_ptr<const KnownGroup> group) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [&](const auto& earlier) { return earlier.first == ranks; });
  groups_.emplace_back(ranks, std::move(group));
  keep_newest(groups_, kMostGroups);
}

void KnownInJob::remember_view(const std::vector<int>& ranks, const net::GroupView& view) {
  Look look{ranks, view.host_of_rank, view.network};
  const std::lock_guard lock(mutex_);
  std::erase_if(looks_, [&](const Look& earlier) { return earlier.ranks == ranks; });
  looks_.push_back(std::move(look));
  keep_newest(looks_, kMostLooks);
}

std::optional<KnownView> KnownInJob::find_view(const std::vector<int>& ranks) const {
  const std::lock_guard lock(mutex_);
  for (auto look = looks_.rbegin(); look != looks_.rend(); ++look) {
    std::unordered_map<int, int> host_of;
    for (std::size_t i = 0; i < look->ranks.size(); ++i) host_of.emplace(look->ranks[i], look->hosts[i]);
    std::vector<int> hosts;
    for (const int rank : ranks) {
      const auto found = host_of.find(rank);
      if (found == host_of.end()) break;
      hosts.push_back(found->second);
    }
    if (hosts.size() != ranks.size()) continue;
    std::string text = look->network->measured_at + ";" + look->network->fingerprint() + ";";
    for (const int host : hosts) text += std::to_string(host) + " ";
    const std::uint64_t digest = std::stoull(base::digest(text), nullptr, 16);
    return KnownView{net::make_view(look->network, std::move(hosts)), std::max<std::uint64_t>(digest, 1)};
  }
  return std::nullopt;
}

double KnownInJob::arming_s(bool known) const {
  const std::lock_guard lock(mutex_);
  const double anew_s = arming_s_[0] > 0 ? arming_s_[0] : kArmingGuess_s;
  if (!known) return anew_s;
  return arming_s_[1] > 0 ? arming_s_[1] : kKnownPart * anew_s;
}

void KnownInJob::note_arming(bool known, double seconds) {
  const std::lock_guard lock(mutex_);
  arming_s_[known ? 1 : 0] = seconds;
}

}  // namespace eco::runtime
