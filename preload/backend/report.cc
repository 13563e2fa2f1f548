#include "preload/backend/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "eco/base/json_file.h"
#include "eco/transport/mpi/mpi_native.h"
#include "preload/backend/session.h"
#include "preload/backend/world.h"

namespace eco::preload {
namespace {

using Tallies = std::array<Tally, coll::kCollectives>;
constexpr double kNanosecond_s = 1e-9;
constexpr double kWorthSaying_s = 0.5;  // a look at a remembered network takes less

// Collective: sums over all ranks, on rank 0.
Tallies sum_over_ranks(const Tallies& mine) {
  Tallies sums{};
  PMPI_Reduce(mine.data(), sums.data(), coll::kCollectives * kTallyNumbers, MPI_UINT64_T, MPI_SUM, 0,
              MPI_COMM_WORLD);
  return sums;
}

nlohmann::json to_json(const Tallies& tallies) {
  nlohmann::json json;
  for (int i = 0; i < coll::kCollectives; ++i) {
    const Tally& tally = tallies[static_cast<std::size_t>(i)];
    json[std::string(coll::name(static_cast<coll::Collective>(i)))] = {
        {"calls_served", tally.calls_served},
        {"calls_formed", tally.calls_formed},
        {"calls_passed", tally.calls_passed},
        {"calls_unplanned", tally.calls_unplanned},
        {"calls_left_late", tally.calls_left_late},
        {"bytes", tally.bytes},
        {"seconds", static_cast<double>(tally.nanoseconds_served + tally.nanoseconds_passed) * kNanosecond_s},
        {"seconds_served", static_cast<double>(tally.nanoseconds_served) * kNanosecond_s},
        {"seconds_passed", static_cast<double>(tally.nanoseconds_passed) * kNanosecond_s},
        {"between_messages", tally.messages_between},
        {"between_bytes", tally.bytes_between}};
  }
  return json;
}

// Collective: by name, the rails that failed and on how many ranks; on rank 0.
using FailedRails = std::map<std::string, int>;
FailedRails sum_failed_rails(const JobRails& rails) {
  const std::vector<std::string>& names = rails.names();
  const std::vector<std::string> failed = rails.failed();
  std::vector<int> mine(names.size());
  std::vector<int> sums(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    mine[i] = std::find(failed.begin(), failed.end(), names[i]) == failed.end() ? 0 : 1;
  if (names.empty()) return {};
  PMPI_Reduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  FailedRails found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (sums[i] > 0) found[names[i]] = sums[i];
  }
  return found;
}

// What carried ECO's messages, and why no more of them.
nlohmann::json transport_of(Session& session, const FailedRails& failed) {
  const bool has_rails = session.rails().are_there();
  const std::string_view carrier = session.rails().kind() == "UCX" ? "ucx" : "tcp";
  nlohmann::json lacking = nlohmann::json::object();
  for (const transport::tcp::CommonRail& rail : session.rails().rails()) {
    if (!rail.lacking.empty()) lacking[rail.name] = rail.lacking;
  }
  return {{"carrier", !has_rails                          ? "mpi"
                      : session.options().is_beside_mpi() ? carrier
                                                          : "mpi, tcp where rails are named"},
          {"rails", session.rails().names()},
          {"hosts_without", std::move(lacking)},
          {"failed_on_ranks", failed},
          {"reason", session.rails().reason()}};
}

std::string rails_text(Session& session, const FailedRails& failed) {
  std::string text;
  for (const transport::tcp::CommonRail& rail : session.rails().rails()) {
    const std::string lack = who_lacks(rail);
    text += (text.empty() ? "" : ", ") + rail.name + (lack.empty() ? "" : " (" + lack + ")");
  }
  for (const auto& [name, n_ranks] : failed)
    text += "; " + name + " FAILED on " + std::to_string(n_ranks) + " ranks" +
            (session.rails().kind() == "TCP" ? ", its traffic took the others" : "");
  if (!text.empty()) {
    const std::string kind = session.rails().kind();
    const bool is_another = session.options().carrier == runtime::Carrier::ucx && kind != "UCX";
    return "; " + kind + " over " + text + (is_another ? " (" + session.rails().reason() + ")" : "");
  }
  // Who named them wants to know.
  return session.options().rails.empty() ? "" : "; no rails: " + session.rails().reason();
}

const char* word_for(runtime::Mode mode) { return mode == runtime::Mode::observe ? "observe" : "on"; }

// By the plan's measurements, less what arming took: below zero where the job's calls did not make up for it.
plan::Gain net_gain(Session& session, const Session::Summary& summary) {
  plan::Gain gain = session.counters().gain();
  gain.seconds -= summary.arming_s;
  return gain;
}

std::string gain_text(const plan::Gain& gain, const Session::Summary& summary) {
  const bool is_loss = gain.seconds < 0;
  char text[160];
  const int length =
      std::snprintf(text, sizeof text, "; %s %.3g s %s in a job of %.3g s, armed in %.3g s",
                    !gain.is_least ? "about"
                    : is_loss      ? "at most"
                                   : "at least",
                    std::abs(gain.seconds), is_loss ? "lost" : "gained", summary.wall_s, summary.arming_s);
  if (summary.measuring_s >= kWorthSaying_s)
    std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), ", %.2g s of it measuring",
                  summary.measuring_s);
  return text;
}

// Of a job with nothing served.
std::string why_nothing(Session& session, const Session::Summary& summary, std::uint64_t calls) {
  if (!session.arms()) return session.why_native();
  if (calls > 0 && summary.communicators.able > 0) return "the plan leaves these calls to the library";
  // Of one rank there may be thousands, and nobody wonders about them where there are others.
  std::map<std::string, std::uint64_t> native;
  for (const auto& [n_ranks, of_size] : summary.communicators.by_size) {
    if (n_ranks == 1) continue;
    for (const auto& [reason, number] : of_size.native) native[reason] += number;
  }
  if (native.empty()) native = summary.communicators.native;
  // Who gave a plan or a network wants to know why it isn't used, and not that other communicators have little to do.
  const bool is_given = !session.options().plan_file.empty() || !session.options().network_file.empty();
  if (is_given && native.size() > 1) native.erase(kNothingWorthArming);
  if (calls == 0 || native.empty()) return "nothing was called that can be served";
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(native.begin(), native.end(), fewer)->first;
}

// What was asked for, the same on all ranks: by variable.
nlohmann::json options_of(const runtime::Options& options) {
  nlohmann::json json = nlohmann::json::object();
  std::istringstream lines(options.agreed_text());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) json[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return json;
}

void write_file(Session& session, const Session::Summary& summary, const World& world, const Tallies& mine,
                const std::optional<Tallies>& sums, const FailedRails& failed) {
  const plan::Gain gain = net_gain(session, summary);
  nlohmann::json json = {{"schema", "eco.report"},
                         {"version", 1},
                         {"eco_version", ECO_VERSION},
                         {"library", transport::mpi::library_name()},
                         {"mode", word_for(session.options().mode)},
                         {"options", options_of(session.options())},
                         {"ranks", world.n_ranks},
                         {"wall_s", summary.wall_s},
                         {"arming_s", summary.arming_s},
                         {"measuring_s", summary.measuring_s},
                         {"network", summary.provenance},
                         {"estimated_gain_s", gain.seconds},
                         {"estimated_gain_is_least", gain.is_least},
                         {"communicators_armed", summary.armed},
                         {"communicators_native", summary.communicators.native},
                         {"collectives", to_json(mine)}};
  const Counters::Topologies topologies = session.counters().topologies();
  json["transport"] = transport_of(session, failed);
  const runtime::AmbientWatch::Told ambient = session.counters().ambient();
  json["ambient"] = {{"follows", session.options().ambient.has_value()},
                     {"looks", ambient.looks},
                     {"moves", ambient.moves},
                     {"moves_back", ambient.moves_back},
                     {"account", session.counters().ambient_account().lines()},
                     {"seconds", static_cast<double>(ambient.spent_ns) * kNanosecond_s}};
  json["late"] = {{"account", session.counters().late_account().lines()}};
  json["topologies"] = {{"reordered", topologies.reordered}, {"in_order", topologies.in_order}};
  // Over all ranks: an average rank's seconds are these divided by `ranks`.
  if (sums) json["totals"] = to_json(*sums);
  if (const auto error = base::write_text_atomically(session.options().report_file, base::to_text(json, 2))) {
    std::fprintf(stderr, "eco: no report: %s\n", error->c_str());
  }
}

void print_line(Session& session, const Session::Summary& summary, const Tallies& mine,
                const FailedRails& failed) {
  std::uint64_t served = 0;
  std::uint64_t all = 0;
  std::uint64_t formed = 0;
  std::uint64_t unplanned = 0;
  std::uint64_t left_late = 0;
  std::string parts;
  for (int i = 0; i < coll::kCollectives; ++i) {
    const Tally& tally = mine[static_cast<std::size_t>(i)];
    served += tally.calls_served;
    formed += tally.calls_formed;
    unplanned += tally.calls_unplanned;
    left_late += tally.calls_left_late;
    all += tally.calls_served + tally.calls_passed;
    if (tally.calls_served == 0) continue;
    parts += (parts.empty() ? " (" : ", ") + std::string(coll::name(static_cast<coll::Collective>(i))) + " " +
             std::to_string(tally.calls_served);
  }
  if (!parts.empty()) parts += ")";
  std::string end;
  // Who asked for it wants to know.
  if (session.options().late && session.arms())
    end += "; " + std::to_string(formed) + " formed around late ranks";
  if (left_late > 0) end += ", " + std::to_string(left_late) + " left to the library for them";
  if (!session.counters().late_account().lines().empty()) end += " (why: `late` in a report, ECO_REPORT)";
  if (session.options().ambient && session.arms()) {
    const runtime::AmbientWatch::Told ambient = session.counters().ambient();
    end += "; looked for ambient traffic " + std::to_string(ambient.looks) + " times, moved " +
           std::to_string(ambient.moves) + " and back " + std::to_string(ambient.moves_back);
  }
  const std::uint64_t reordered = session.counters().topologies().reordered;
  if (reordered > 0)
    end += "; " + std::to_string(reordered) + (reordered == 1 ? " topology" : " topologies") + " reordered";
  if (!summary.provenance.empty()) end += "; " + summary.provenance;
  if (session.arms()) end += rails_text(session, failed);
  if (unplanned > 0)
    end += "; " + std::to_string(unplanned) +
           " of kinds that are not planned yet, which `eco tune` does (beyond 4 MiB with --sizes)";
  const bool says_why = unplanned > 0 && unplanned == all;
  if (served == 0 && !says_why) end += "; " + why_nothing(session, summary, all);
  if (served > 0 || summary.arming_s > 0) {
    end += gain_text(net_gain(session, summary), summary);
  }
  std::fprintf(stderr, "eco: served %llu of %llu calls%s%s\n", static_cast<unsigned long long>(served),
               static_cast<unsigned long long>(all), parts.c_str(), end.c_str());
}

}  // namespace

void report(Session& session, bool collective) {
  const World here = world();
  const Tallies mine = session.counters().tallies();
  std::optional<Tallies> sums;
  FailedRails failed;
  if (collective) {
    sums = sum_over_ranks(mine);
    failed = sum_failed_rails(session.rails());
  }
  if (here.rank != 0) return;
  // Called from MPI_Finalize: a program that came to its end is not ended by what ECO says of it.
  try {
    const Session::Summary summary = session.summary();
    if (!session.options().report_file.empty()) write_file(session, summary, here, mine, sums, failed);
    if (!session.options().quiet) print_line(session, summary, mine, failed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "eco: no report: %s\n", error.what());
  }
}

}  // namespace eco::preload
