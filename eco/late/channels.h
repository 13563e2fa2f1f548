// What a source of this room sends on which channel; what goes away from the root goes on Flow::kChannel.
#pragma once

#include "eco/late/flow.h"

namespace eco::late {

inline constexpr int kReadyChannel = Flow::kChannel + 1;   // of no bytes: I am there
inline constexpr int kNoticeChannel = Flow::kChannel + 2;  // notices about oneself
inline constexpr int kChildChannel = Flow::kChannel + 3;   // notices about one's children
inline constexpr int kUpChannel = kChildChannel;  // in waves, which need no such notices: towards the root
inline constexpr int kChannels = Flow::kChannel + 4;

}  // namespace eco::late
