// How ranks find each other: each says one line, "KEY ADDRESS ADDRESS ...", all in hexadecimal digits, and hears everybody's.
#include <algorithm>
#include <sstream>
#include <utility>

#include "eco/base/errors.h"
#include "eco/transport/ucx/ucx_transport.h"

namespace eco::transport::ucx {
namespace {

struct Offer {
  const Library* ucp = nullptr;
  std::vector<std::unique_ptr<Rail>> rails;
  std::string line;
};

Offer make_offer(const std::vector<std::string>& devices, int n_ranks) {
  if (devices.empty()) throw InvalidArgument("ucx: no rails; name a device of this host for each");
  Offer offer;
  std::string reason;
  offer.ucp = library(reason);
  if (offer.ucp == nullptr) throw Unsupported(reason);
  tcp::Key key;
  tcp::fill_randomly(key);
  offer.line = hexadecimal(key);
  for (const std::string& device : devices) {
    offer.rails.push_back(std::make_unique<Rail>(*offer.ucp, device, n_ranks));
    offer.line += " " + hexadecimal(offer.rails.back()->address());
  }
  return offer;
}

std::unique_ptr<UcxTransport> join(Offer offer, const std::vector<std::string>& lines, int rank,
                                   UcxOptions options) {
  for (std::size_t r = 0; r < lines.size(); ++r) {
    if (!lines[r].starts_with('!')) continue;
    throw TransportError("rank " + std::to_string(r) + ": " +
                         lines[r].substr(2, lines[r].find_last_not_of(' ') - 1));
  }
  Job job;
  job.rank = rank;
  for (std::size_t r = 0; r < lines.size(); ++r) {
    std::istringstream words(lines[r]);
    std::vector<Address> said;
    for (std::string word; words >> word;) {
      std::optional<std::vector<std::byte>> bytes = read_hexadecimal(word);
      if (!bytes) break;
      said.push_back(std::move(*bytes));
    }
    if (said.size() != offer.rails.size() + 1 || said[0].size() != job.key.size()) {
      throw TransportError("ucx: rank " + std::to_string(r) + " says '" + lines[r] +
                           "' instead of where it is on " + std::to_string(offer.rails.size()) +
                           " rails; has it as many, and is the store this job's own?");
    }
    if (r == 0) std::copy(said[0].begin(), said[0].end(), job.key.begin());
    job.addresses.emplace_back(said.begin() + 1, said.end());
  }
  return std::make_unique<UcxTransport>(*offer.ucp, std::move(job), std::move(offer.rails), options);
}

}  // namespace

Usable usable() {
  Usable found;
  if (const Library* ucp = library(found.reason)) {
    found.version = ucp->version;
    found.path = ucp->path;
  }
  return found;
}

std::unique_ptr<RailTransport> meet(KeyValue& store, int rank, int n_ranks,
                                    const std::vector<std::string>& devices, UcxOptions options,
                                    double timeout_s) {
  Offer offer = make_offer(devices, n_ranks);
  const std::vector<std::string> lines = gather_lines(store, rank, n_ranks, offer.line, timeout_s);
  return join(std::move(offer), lines, rank, options);
}

std::unique_ptr<RailTransport> meet(Native& native, int rank, int n_ranks,
                                    const std::vector<std::string>& devices, UcxOptions options) {
  Offer offer;
  try {
    offer = make_offer(devices, n_ranks);
  } catch (const Error& error) {
    // The others wait in the collectives below: they hear of it, and all throw.
    offer.line = std::string("! ") + error.what();
  }
  const std::vector<std::string> lines = gather_lines(native, n_ranks, offer.line);
  auto transport = join(std::move(offer), lines, rank, options);
  transport->reach_next();
  return transport;
}

}  // namespace eco::transport::ucx
