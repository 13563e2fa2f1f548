// Pairs of hosts that were measured, without a network: what needs no measuring again. As a file: JSON of schema "eco.pairs",
// version 1, of jobs that had not the time for all pairs of their hosts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "eco/net/network.h"

namespace eco::net {

struct KnownPair {
  HostId a;
  HostId b;
  std::vector<std::size_t> sizes;
  std::vector<std::vector<double>> samples;  // [size][sweep], seconds one way; at least two each
};

struct KnownPairs {
  std::string transport;  // they were measured over
  std::vector<KnownPair> pairs;
};

// Local, pure. `hosts` are those of the pairs.
std::string pairs_to_json(const std::vector<HostId>& hosts, const KnownPairs& known);

// `where` begins every message. Throws CorruptFile: empty, cut off, foreign or of another version, a field missing or of
// another type, a pair of no two hosts, sizes without samples, times that are none.
KnownPairs parse_pairs(std::string_view text, const std::string& where);

}  // namespace eco::net
