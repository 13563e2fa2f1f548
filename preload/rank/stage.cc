#include "preload/rank/stage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"

namespace eco::rank {

Stage::Stage() {
  PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
  transport = std::make_unique<transport::mpi::MpiTransport>(comm);
  native = std::make_unique<transport::mpi::MpiNative>(comm);
}

Stage::~Stage() { PMPI_Comm_free(&comm); }

void Progress::operator()(const std::string& what, double fraction) {
  const int percent = static_cast<int>(std::floor(fraction * 100));
  if (percent == percent_ && what == what_) return;
  percent_ = percent;
  what_ = what;
  std::fprintf(stderr, "eco-rank: %d %% %s\n", percent, what.c_str());
  std::fflush(stderr);
}

runtime::Options options_of_environment() {
  return runtime::parse_options([](std::string_view variable) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(variable).c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

coll::Collective collective_of(const std::string& operation) {
  const auto known = coll::collective_from_name(operation);
  if (!known) throw InvalidArgument("eco-rank: no operation '" + operation + "'");
  return *known;
}

std::vector<coll::Collective> collectives_of(const std::vector<std::string>& operations) {
  std::vector<coll::Collective> collectives;
  for (const std::string& operation : operations) {
    const coll::Collective collective = collective_of(operation);
    if (std::find(collectives.begin(), collectives.end(), collective) == collectives.end())
      collectives.push_back(collective);
  }
  return collectives;
}

void write_file(const std::string& path, const std::string& text) {
  if (const auto reason = base::write_text_atomically(path, text)) throw Error(*reason);
}

}  // namespace eco::rank
