#include "eco/transport/open_rails.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eco/transport/meeting.h"
#include "eco/transport/ucx/ucx.h"

namespace eco::transport {
namespace {

// Collective: why not all ranks can use UCX together; empty: they can. The same on all.
std::string why_not_ucx(Native& native, int n_ranks) {
  const ucx::Usable mine = ucx::usable();
  std::string reason;
  std::string version;
  const std::string said = mine.reason.empty() ? mine.version : "! " + mine.reason;
  for (const std::string& line : gather_lines(native, n_ranks, said)) {
    if (line.starts_with('!')) return line.substr(2);
    if (version.empty()) version = line;
    if (line != version) reason = "ranks have UCX " + version + " and " + line;
  }
  return reason;
}

}  // namespace

tcp::MetOnRails open_rails(Native& native, int rank, int n_ranks, tcp::WantedRails wanted, bool over_ucx) {
  std::string reason;
  if (over_ucx) {
    reason = why_not_ucx(native, n_ranks);
    if (reason.empty()) {
      wanted.are_devices = true;
      wanted.of_all_hosts = true;  // it opens a context for each, and the other end's addresses with it
      tcp::AgreedRails agreed = tcp::agree_on_rails(native, rank, n_ranks, wanted);
      if (agreed.mine.empty()) return {.transport = nullptr, .rails = {}, .reason = std::move(agreed.reason)};
      tcp::MetOnRails met = tcp::open_on(native, std::move(agreed), [&](const std::vector<tcp::Nic>& mine) {
        std::vector<std::string> devices;
        for (const tcp::Nic& nic : mine) devices.push_back(nic.device);
        return ucx::meet(native, rank, n_ranks, devices);
      });
      if (met.transport) return met;
      reason = std::move(met.reason);
    }
    wanted.are_devices = false;
    wanted.of_all_hosts = false;
    reason = "not over UCX: " + reason;
  }
  tcp::MetOnRails met = tcp::meet_on_rails(native, rank, n_ranks, wanted);
  if (!reason.empty()) met.reason = reason + (met.reason.empty() ? "" : "; " + met.reason);
  return met;
}

}  // namespace eco::transport
