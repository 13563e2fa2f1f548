#include "eco/transport/tcp/bootstrap.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "eco/base/errors.h"

namespace eco::transport::tcp {
namespace {

// Instead of the address on a rail that the host lacks.
constexpr std::string_view kNoAddress = "-";

// What a rank brings to the meeting, and its line about it: "KEY ADDRESS PORT ADDRESS PORT ...".
struct Offer {
  std::vector<Socket> listening;
  std::string line;
};

Offer make_offer(const std::vector<std::string>& addresses) {
  const auto is_none = [](const std::string& address) { return address.empty(); };
  if (std::all_of(addresses.begin(), addresses.end(), is_none))
    throw InvalidArgument("tcp: no rails; give an address of this host for each");
  Offer offer;
  Key key;
  fill_randomly(key);
  offer.line = hexadecimal(key);
  for (const std::string& address : addresses) {
    if (address.empty()) {
      offer.line += " " + std::string(kNoAddress) + " 0";
      continue;
    }
    offer.listening.push_back(listen_on(address));
    offer.line += " " + address + " " + std::to_string(port_of(offer.listening.back()));
  }
  return offer;
}

std::unique_ptr<TcpTransport> join(Offer offer, const std::vector<std::string>& lines, int rank,
                                   const std::vector<std::string>& addresses, TcpOptions options) {
  Job job;
  job.rank = rank;
  job.addresses = addresses;
  for (std::size_t r = 0; r < lines.size(); ++r) {
    std::istringstream words(lines[r]);
    std::string key;
    words >> key;
    const std::optional<std::vector<std::byte>> read = read_hexadecimal(key);
    const bool is_key = read && read->size() == job.key.size();
    if (r == 0 && is_key) std::copy(read->begin(), read->end(), job.key.begin());
    std::vector<Endpoint>& endpoints = job.endpoints.emplace_back();
    for (Endpoint endpoint; words >> endpoint.address >> endpoint.port;)
      endpoints.push_back(endpoint.address == kNoAddress ? Endpoint{} : endpoint);
    if (!is_key || endpoints.empty()) {
      throw TransportError("tcp: rank " + std::to_string(r) + " says '" + lines[r] +
                           "' instead of where it listens; can it, and is the store this job's own?");
    }
  }
  return std::make_unique<TcpTransport>(std::move(job), std::move(offer.listening), options);
}

}  // namespace

std::unique_ptr<TcpTransport> meet(KeyValue& store, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options,
                                   double timeout_s) {
  Offer offer = make_offer(addresses);
  const std::vector<std::string> lines = gather_lines(store, rank, n_ranks, offer.line, timeout_s);
  return join(std::move(offer), lines, rank, addresses, options);
}

std::unique_ptr<TcpTransport> meet(Native& native, int rank, int n_ranks,
                                   const std::vector<std::string>& addresses, TcpOptions options) {
  Offer offer;
  try {
    offer = make_offer(addresses);
  } catch (const Error& error) {
    // The others wait in the collectives below: they hear of it, and all throw.
    offer.line = std::string("! ") + error.what();
  }
  const std::vector<std::string> lines = gather_lines(native, n_ranks, offer.line);
  return join(std::move(offer), lines, rank, addresses, options);
}

}  // namespace eco::transport::tcp
