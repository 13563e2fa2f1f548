// What hosts of one subnet share: the word that networks, trees of levels and schedules have for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace eco::net {

enum class SubnetKind : std::uint8_t {
  lone,      // one host
  switched,  // pairs do not disturb each other
  bus,       // all pairs share one medium, in both directions
  unknown,   // not enough hosts or evidence to tell; treated as switched
};
std::string_view name(SubnetKind kind);
std::optional<SubnetKind> subnet_kind(std::string_view text);

}  // namespace eco::net
