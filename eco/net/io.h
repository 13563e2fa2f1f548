// A Network as a file: JSON of schema "eco.network", version 1.
//
//   save_network(network, "network.json");
//   Network same = load_network("network.json");
//
// Local. Numbers are written so that reading gives the same bits: ranks that parse one text have identical
// networks.
#pragma once

#include <string>
#include <string_view>

#include "eco/net/network.h"

namespace eco::net {

inline constexpr std::string_view kNetworkSchema = "eco.network";
inline constexpr int kNetworkVersion = 1;

// What was measured; what finish() derives is not written.
std::string to_json(const Network& network);

// A finished network. `where` begins every message ("network file n.json"). Throws CorruptFile: empty, cut
// off, foreign or of another version, a field missing or of another type, parts that contradict each other.
Network parse_network(std::string_view text, const std::string& where);

// The same from a file; a missing or unreadable one is a CorruptFile too.
Network load_network(const std::string& path);

// Atomic. Throws Error if the file can't be written; an older file there is then unchanged.
void save_network(const Network& network, const std::string& path);

}  // namespace eco::net
