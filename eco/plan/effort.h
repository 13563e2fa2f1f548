// How much was done for a row of a plan: FFTW's ladder. A row of more effort takes the place of one of less, never the
// other way.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace eco::plan {

enum class Effort {
  estimate,    // by prediction alone: explains, and never serves
  job,         // a few runs of the two that are predicted best, while a program waits
  measure,     // eco tune: what a search by measuring has found, held against the library's own
  exhaustive,  // every recipe with every segment size was measured
};
inline constexpr std::array<std::string_view, 4> kEfforts = {"estimate", "job", "measure", "exhaustive"};

constexpr std::string_view name(Effort effort) { return kEfforts[static_cast<std::size_t>(effort)]; }

constexpr std::optional<Effort> effort_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kEfforts.size(); ++i) {
    if (kEfforts[i] == name) return static_cast<Effort>(i);
  }
  return std::nullopt;
}

}  // namespace eco::plan
