// A collective striped over the rails: every rail carries its share of the message (or of every block) by an algorithm
// that knows one rail, all at the same time.
//
//   steps            the algorithm's, for the rail that is last
//   bytes per link   the algorithm's for its share: over K rails of rates B1, B2, ... share k is Bk / (B1 + B2 + ...)
//   model            the algorithm's, with the sum of the rates for its rate, where all shares end together
//   order            the algorithm's
//   source           the usual way of libraries with several NICs, here with shares by rate and for whole collectives
//
// "broadcast/striped shares=5,2 parts=broadcast/two_tree" on rails of 20 and 8 Mbit/s: five sevenths of the message go
// down two trees over rail 0, two sevenths down two trees over rail 1.
//
// The shares are the recipe's integers, so that all ranks cut alike. Iterations of the rails' schedules are dealt evenly
// over the whole's, or the executor, which looks ahead over a bounded window, would see one rail after the other.
#include "eco/algo/striped.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "eco/algo/patterns/combine.h"
#include "eco/base/assert.h"

namespace eco::algo {
namespace {

using sched::Buffer;
using sched::Emitter;
using sched::Op;
using sched::Region;

// The slowest rail's share has so many steps: shares are off by 1 / 32 of it at most.
constexpr int kSharesOfSlowest = 16;
// Rails slower than a hundredth of the fastest are of no use to anybody.
constexpr int kLargestShare = 100 * kSharesOfSlowest;

// What one rail has of the message, or of every block of it.
struct RailCut {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

std::vector<RailCut> cuts(const CommonProblem& problem, const std::vector<int>& shares) {
  const std::size_t whole = coll::is_blocked(problem.collective) ? problem.block_bytes() : problem.bytes;
  const std::size_t elements = whole / problem.element_bytes;
  const auto all = static_cast<std::size_t>(std::accumulate(shares.begin(), shares.end(), 0));
  std::vector<RailCut> found;
  std::size_t sum = 0;
  std::size_t begin = 0;
  for (const int share : shares) {
    sum += static_cast<std::size_t>(share);
    const std::size_t end = sum == all ? whole : elements * sum / all * problem.element_bytes;
    found.push_back({begin, end - begin});
    begin = end;
  }
  return found;
}

CommonProblem problem_of(const CommonProblem& whole, const RailCut& cut) {
  CommonProblem problem = whole;
  problem.bytes = cut.bytes * coll::n_blocks(whole);
  return problem;
}

// One rail's schedule, and where it lies in the whole.
struct Stripe {
  Schedule schedule;
  RailCut cut;
  std::size_t block = 0;  // of the whole; 0: no blocks
  std::size_t scratch = 0;
  int channel = 0;
  std::vector<std::size_t> ends = {};  // of the loops, counted in iterations

  std::size_t count() const { return ends.empty() ? 0 : ends.back(); }

  Region place(Region region) const {
    if (region.buffer == Buffer::scratch) {
      region.offset += scratch;
    } else if (block == 0) {
      region.offset += cut.begin;
    } else {
      const std::size_t inside = region.offset % cut.bytes;
      ECO_ASSERT(normal, inside + region.bytes <= cut.bytes,
                 "a striped algorithm's regions lie in one block each");
      region.offset = region.offset / cut.bytes * block + cut.begin + inside;
    }
    return region;
  }

  void emit(std::size_t iteration, Emitter& e) const {
    const auto loop =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), iteration) - ends.begin());
    const std::size_t before = e.emitted().size();
    schedule.loops()[loop].body(iteration - (loop == 0 ? 0 : ends[loop - 1]), e);
    for (Op& op : e.emitted().subspan(before)) {
      op.channel += channel;
      op.source = place(op.source);
      op.target = place(op.target);
    }
  }
};

// What is on every rail; the view has sites for subnets by then, where there are sites.
Params params_on_a_rail(const Params& params) {
  Params of_part = params;
  of_part.parts.clear();
  of_part.shares.clear();
  of_part.sites.clear();
  return of_part;
}

Schedule build(const CommonProblem& problem, const GroupView& view, const Params& params, int rank) {
  const Algorithm* const part = find(params.parts.at(0));
  const Params of_part = params_on_a_rail(params);
  Schedule whole(rank, problem.n_ranks);
  set_window(whole, params);
  whole.n_channels = 0;
  const auto stripes = std::make_shared<std::vector<Stripe>>();
  const std::vector<RailCut> of_rails = cuts(problem, params.shares);
  std::size_t most = 0;
  for (std::size_t rail = 0; rail < of_rails.size(); ++rail) {
    if (of_rails[rail].bytes == 0) continue;
    Stripe& stripe = stripes->emplace_back(
        Stripe{part->build(problem_of(problem, of_rails[rail]), view, of_part, rank), of_rails[rail]});
    stripe.block = coll::is_blocked(problem.collective) ? problem.block_bytes() : 0;
    stripe.scratch = whole.scratch_bytes;
    stripe.channel = whole.n_channels;
    for (const sched::Loop& loop : stripe.schedule.loops())
      stripe.ends.push_back(stripe.count() + loop.count);
    most = std::max(most, stripe.count());
    whole.scratch_bytes += stripe.schedule.scratch_bytes;
    whole.n_channels += stripe.schedule.n_channels;
    whole.rails.resize(static_cast<std::size_t>(whole.n_channels), static_cast<std::uint8_t>(rail));
  }
  whole.repeat(most, [stripes, most](std::size_t i, Emitter& e) {
    for (const Stripe& stripe : *stripes) {
      const std::size_t n = stripe.count();
      for (std::size_t k = i * n / most; k < (i + 1) * n / most; ++k) stripe.emit(k, e);
    }
  });
  return whole;
}

// Of the rails that so many hosts have; 0 for the others, and none for the last of these.
std::vector<int> shares_among(const net::Network& network, const std::vector<int>& had_by, int fewest) {
  std::vector<double> rates;
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t rail = 0; rail < had_by.size(); ++rail) {
    if (had_by[rail] < fewest) {
      rates.push_back(0);
      continue;
    }
    rates.push_back(network.rail_bytes_per_s(static_cast<int>(rail)));
    slowest = std::min(slowest, rates.back());
  }
  std::vector<int> shares;
  int divisor = 0;
  for (std::size_t rail = 0; rail < rates.size(); ++rail) {
    // Ranks of one host, between which no rail leads, use all alike.
    const double share = had_by[rail] < fewest ? 0
                         : slowest <= 0        ? 1
                                               : std::round(kSharesOfSlowest * rates[rail] / slowest);
    shares.push_back(static_cast<int>(std::min<double>(share, kLargestShare)));
    divisor = std::gcd(divisor, shares.back());
  }
  for (int& share : shares) share /= divisor;
  while (shares.back() == 0) shares.pop_back();
  return shares;
}

}  // namespace

std::vector<std::vector<int>> shares_of_rails(const net::GroupView& view) {
  const int n_hosts = view.n_hosts_on(0);
  std::vector<int> had_by;
  for (int rail = 0; rail < view.network->n_rails(); ++rail) had_by.push_back(view.n_hosts_on(rail));
  std::vector<std::vector<int>> found;
  for (const int fewest : {n_hosts, std::min(2, n_hosts)}) {
    std::vector<int> shares = shares_among(*view.network, had_by, fewest);
    const auto n_used = std::count_if(shares.begin(), shares.end(), [](int share) { return share > 0; });
    if (n_used > 1 && (found.empty() || found.back() != shares)) found.push_back(std::move(shares));
  }
  return found;
}

Algorithm striped(coll::Collective collective, std::vector<std::string> choices) {
  // Of the longest part; the others are that of fewer elements, or none.
  const auto longest_part = [](const CommonProblem& problem, const std::vector<int>& shares) {
    const std::vector<RailCut> of_rails = cuts(problem, shares);
    return problem_of(
        problem, *std::max_element(of_rails.begin(), of_rails.end(),
                                   [](const RailCut& a, const RailCut& b) { return a.bytes < b.bytes; }));
  };
  const auto candidates = [choices, longest_part](const CommonProblem& problem, const GroupView& view) {
    std::vector<Params> all;
    for (const std::vector<int>& shares : shares_of_rails(view)) {
      const CommonProblem part_problem = longest_part(problem, shares);
      for (const std::string& choice : choices) {
        const Algorithm* const part = find(choice);
        if (part->why_not(part_problem, view)) continue;
        for (Params params : part->candidates(part_problem, view)) {
          params.shares = shares;
          params.parts = {choice};
          all.push_back(std::move(params));
        }
      }
    }
    return all;
  };
  const auto objection = [choices, longest_part](const CommonProblem& problem, const GroupView& view) {
    Objection reason = "no two of these hosts have more than one rail in common";
    for (const std::vector<int>& shares : shares_of_rails(view)) {
      const CommonProblem part_problem = longest_part(problem, shares);
      for (const std::string& choice : choices) {
        reason = find(choice)->why_not(part_problem, view);
        if (!reason) return reason;
      }
    }
    return reason;
  };
  const auto objection_to = [choices](const CommonProblem& problem, const GroupView& view,
                                      const Params& params) -> Objection {
    const auto n_rails = static_cast<std::size_t>(view.network->n_rails());
    if (params.shares.empty() || params.shares.size() > n_rails)
      return "it has shares for " + std::to_string(params.shares.size()) + " of " + std::to_string(n_rails) +
             " rails";
    if (*std::max_element(params.shares.begin(), params.shares.end()) > kLargestShare ||
        std::accumulate(params.shares.begin(), params.shares.end(), 0) == 0)
      return "its shares are not from 0 to " + std::to_string(kLargestShare) +
             ", and one of them more than 0";
    if (params.parts.size() != 1 ||
        std::find(choices.begin(), choices.end(), params.parts[0]) == choices.end()) {
      std::string known;
      for (const std::string& choice : choices) known += (known.empty() ? "" : ", ") + choice;
      return "its part has to be one of " + known;
    }
    const Params of_part = params_on_a_rail(params);
    for (const RailCut& cut : cuts(problem, params.shares)) {
      if (cut.bytes == 0) continue;
      if (Objection reason = why_not({params.parts[0], of_part}, problem_of(problem, cut), view))
        return reason;
    }
    return std::nullopt;
  };
  return {title(collective, "striped"),
          collective,
          candidates,
          build,
          objection,
          objection_to,
          {collective},
          true};
}

}  // namespace eco::algo
