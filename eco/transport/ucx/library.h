// libucp, opened when it is first wanted: never linked, so programs that don't use it don't load it, and those that do
// have one copy. A process whose MPI library has one already uses that (two copies of different versions clash).
//
//   std::string reason;
//   const Library* ucp = library(reason);        // null: the reason why
//   ucp->worker_progress(worker);
//
// Only this room's .cc files see it. docs/adr/0028 says which versions, and why these headers.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace eco::transport::ucx {

// All that is used of UCX, without its prefix "ucp_".
#define ECO_UCP_FUNCTIONS(X)    \
  X(get_version)                \
  X(config_read)                \
  X(config_modify)              \
  X(config_release)             \
  X(init_version)               \
  X(cleanup)                    \
  X(worker_create)              \
  X(worker_destroy)             \
  X(worker_get_address)         \
  X(worker_release_address)     \
  X(worker_get_efd)             \
  X(worker_arm)                 \
  X(worker_progress)            \
  X(worker_flush_nbx)           \
  X(worker_set_am_recv_handler) \
  X(ep_create)                  \
  X(ep_close_nbx)               \
  X(am_send_nbx)                \
  X(am_recv_data_nbx)           \
  X(am_data_release)            \
  X(request_check_status)       \
  X(request_free)

struct Library {
  std::string version;  // of its API: "1.20"
  std::string path;
  bool was_there = false;  // the process had it already
#define ECO_UCP_MEMBER(name) decltype(&::ucp_##name) name = nullptr;
  ECO_UCP_FUNCTIONS(ECO_UCP_MEMBER)
#undef ECO_UCP_MEMBER
  decltype(&::ucs_status_string) status_string = nullptr;
};

// Local; opened once a process, and kept. Null, with the reason: there is none, or none that we know.
const Library* library(std::string& reason);

}  // namespace eco::transport::ucx
