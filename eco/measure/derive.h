// From measurements to a Network. Local, pure: everything here can be tested without a clock or a transport.
//
// Rates and latencies come apart like this. The rate of a class of pairs (inside one subnet, between two) is the slope
// of a stream: (bytes of the long stream - bytes of the short one) / (their times' difference), so everything constant
// (latency, overheads, the credit a shaper gives an idle link) cancels, and messages stay below the libraries' eager
// limits. Without a stream it is the slope of the pair times between the two largest sizes; there the larger one may
// pay a rendezvous that the smaller does not, which makes links look up to some 5 % slower. The latency is then what
// the small messages took beyond Network::message_s with no latency: the average over the sizes up to 16 KiB, weighted
// by 1 / time^2 so that relative errors count equally.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "eco/measure/sharing.h"
#include "eco/net/network.h"
#include "eco/net/partition.h"

namespace eco::measure {

// Figure 2 at 1 KiB (or the nearest measured size) and at the largest, then the common refinement: a bridge shows in
// the small messages, a slow uplink in the large.
net::Partition find_subnets(int n_hosts, const std::vector<std::size_t>& sizes,
                            const std::vector<net::PairTimes>& pairs);
// Figure 2 at one size, by its index.
net::Partition subnets_at(int n_hosts, const std::vector<net::PairTimes>& pairs, std::size_t size);

// The index of the measured size that is nearest to `wanted`; 0 if there are none.
std::size_t nearest_size(const std::vector<std::size_t>& sizes, std::size_t wanted);

// Indices of the pairs that Figure 2 parts at this reference size but not at the other one.
std::vector<std::size_t> contested_pairs(int n_hosts, const std::vector<std::size_t>& sizes,
                                         const std::vector<net::PairTimes>& pairs, std::size_t size);
// Of those that it parts at this size the ones that take less than kClose times what the nearest host of either takes: samples
// that are still too long may have done it.
inline constexpr double kClose = 1.5;
std::vector<std::size_t> close_pairs(int n_hosts, const std::vector<net::PairTimes>& pairs, std::size_t size);

// Fills subnets and between of a network that has hosts, sizes and pairs: rates by the pair times' slope, no latency
// yet, kinds unknown.
void derive_classes(net::Network& network, const net::Partition& subnets);

// Rate of a stream from its time with one message and with `count`; 0 if the times make no sense.
double stream_rate(std::size_t bytes, int count, double one_s, double all_s);

// What the tests across borders say: uplinks. `network.concurrent` holds the tests, `questions` what each asked.
void derive_uplinks(net::Network& network, const std::vector<SharingTest>& questions);

// The links of sites of which nobody asked what they carry: where every pair that leaves is slower than the best inside, what
// the best of them gets. Local.
void derive_site_links(net::Network& network);

// Of the sites that a subnet is in, those within more than net::kMostSiteLinks that have a link lose theirs. Local.
void limit_site_links(std::vector<net::Site>& sites);

// Latencies of all classes, given rates, uplinks and overheads; leaves the network finished.
void fit_latencies(net::Network& network);

}  // namespace eco::measure
