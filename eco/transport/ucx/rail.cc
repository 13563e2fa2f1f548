#include <unistd.h>

#include <cstring>

#include "eco/base/errors.h"
#include "eco/transport/ucx/ucx_transport.h"

namespace eco::transport::ucx {
namespace {

// Settings of this transport alone: ECO_UCX_TLS and so on come after UCX_TLS, which the MPI library's UCX reads too.
constexpr const char* kPrefix = "ECO";

bool is_interface(const std::string& device) {
  return ::access(("/sys/class/net/" + device).c_str(), F_OK) == 0;
}

}  // namespace

Rail::Rail(const Library& ucp, std::string device, int n_ranks) : ucp_(ucp) {
  const auto check = [&](ucs_status_t status, const char* what) {
    if (status == UCS_OK) return;
    throw TransportError("ucx: " + device + ": " + what + ": " + ucp.status_string(status) + " (" + ucp.path +
                         "); `ucx_info -d` lists the devices that it has");
  };
  try {
    ucp_config_t* config = nullptr;
    check(ucp.config_read(kPrefix, nullptr, &config), "no configuration");
    ucs_status_t status = ucp.config_modify(config, "NET_DEVICES", device.c_str());
    if (status == UCS_OK) status = ucp.config_modify(config, "TLS", is_interface(device) ? "tcp" : "ib");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = static_cast<std::size_t>(n_ranks);
    if (status == UCS_OK) status = ucp.init_version(UCP_API_MAJOR, 13, &params, config, &context_);
    ucp.config_release(config);
    check(status, "no context");
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // threads take turns (shared_rails.h)
    check(ucp.worker_create(context_, &worker, &worker_), "no worker");
    check(ucp.worker_get_efd(worker_, &descriptor_), "nothing to wait for");
  } catch (...) {
    if (worker_ != nullptr) ucp_.worker_destroy(worker_);
    if (context_ != nullptr) ucp_.cleanup(context_);
    throw;
  }
}

Rail::~Rail() {
  ucp_.worker_destroy(worker_);
  ucp_.cleanup(context_);
}

Address Rail::address() const {
  ucp_address_t* address = nullptr;
  std::size_t n = 0;
  if (ucp_.worker_get_address(worker_, &address, &n) != UCS_OK)
    throw TransportError("ucx: a worker has no address");
  const auto bytes = std::as_bytes(std::span(reinterpret_cast<const char*>(address), n));
  Address copy(bytes.begin(), bytes.end());
  ucp_.worker_release_address(worker_, address);
  return copy;
}

}  // namespace eco::transport::ucx
