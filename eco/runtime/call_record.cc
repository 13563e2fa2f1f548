#include "eco/runtime/call_record.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

namespace eco::runtime {
namespace {

// More kinds of calls are no longer read, only counted.
constexpr std::size_t kMostKinds = 8;

struct Kind {
  const CallRecord* record;
  std::vector<int> ranks;
};

std::string text_of(const CallRecord::Name& name) { return name.data(); }

std::string hex(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string describe(const CallRecord& record) {
  std::string text = text_of(record.call);
  if (record.bytes != CallRecord::kNoBytes) text += " of " + std::to_string(record.bytes) + " bytes";
  if (record.operation[0] != '\0')
    text += ", " + text_of(record.operation) + " of " + text_of(record.element);
  if (record.root != CallRecord::kNoRoot) text += ", root " + std::to_string(record.root);
  if (record.arguments == CallRecord::Arguments::unfit) text += ", its own sides of different lengths";
  if (record.arguments == CallRecord::Arguments::refused) text += ", with arguments that MPI refuses";
  return text;
}

std::vector<Kind> kinds_of(std::span<const CallRecord> records) {
  std::vector<Kind> kinds;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    auto same = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& kind) { return *kind.record == records[rank]; });
    if (same == kinds.end()) same = kinds.insert(same, {&records[rank], {}});
    same->ranks.push_back(static_cast<int>(rank));
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind& a, const Kind& b) { return a.ranks.size() > b.ranks.size(); });
  return kinds;
}

}  // namespace

CallRecord::Name CallRecord::to_name(std::string_view text) {
  Name name{};
  text.copy(name.data(), name.size() - 1);
  return name;
}

std::string rank_list(std::span<const int> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i > 0) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += last == i + 1 ? ',' : '-';
    if (last > i) text += std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::optional<std::string> difference(std::span<const CallRecord> records, const std::string& communicator,
                                      std::uint64_t number) {
  // Most often, and without memory of its own.
  if (std::all_of(records.begin(), records.end(), [&](const auto& one) { return one == records[0]; }))
    return std::nullopt;
  const std::vector<Kind> kinds = kinds_of(records);
  std::set<std::string> texts;
  for (const Kind& kind : kinds) texts.insert(describe(*kind.record));
  // Digests say nothing to a reader, but that they differ.
  const bool needs_digests = texts.size() < kinds.size();

  std::string text = "call " + std::to_string(number) + " on " + communicator + " (" +
                     std::to_string(records.size()) + " ranks): ";
  for (std::size_t i = 0; i < std::min(kinds.size(), kMostKinds); ++i) {
    const CallRecord& record = *kinds[i].record;
    if (i > 0) text += "; ";
    const bool is_one = kinds[i].ranks.size() == 1;
    text += is_one ? "rank " : "ranks ";
    text += rank_list(kinds[i].ranks);
    text += is_one ? " calls " : " call ";
    text += describe(record);
    if (needs_digests) text += ", block lengths " + hex(record.lengths) + ", recipe " + hex(record.recipe);
  }
  if (kinds.size() > kMostKinds) text += "; and " + std::to_string(kinds.size() - kMostKinds) + " more";
  return text;
}

}  // namespace eco::runtime
