// Built without UCX's headers: nobody has it.
#include "eco/base/errors.h"
#include "eco/transport/ucx/ucx.h"

namespace eco::transport::ucx {
namespace {

constexpr const char* kReason = "ECO was built without UCX's headers (libucx-dev)";

}  // namespace

Usable usable() { return {.version = "", .path = "", .reason = kReason}; }

std::unique_ptr<RailTransport> meet(KeyValue&, int, int, const std::vector<std::string>&, UcxOptions,
                                    double) {
  throw Unsupported(kReason);
}

std::unique_ptr<RailTransport> meet(Native&, int, int, const std::vector<std::string>&, UcxOptions) {
  throw Unsupported(kReason);
}

}  // namespace eco::transport::ucx
