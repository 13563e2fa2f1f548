// Memory that a failed transport may still read or write.
//
// When a run ends early, some of its messages are still posted, and a posted buffer belongs to the transport. There is
// no way to take it back, so what held it is kept until the process ends. Happens once per broken communicator.
#pragma once

#include <memory>

namespace eco::runtime {

void keep_until_exit(std::shared_ptr<void> memory);

}  // namespace eco::runtime
