// What a communicator with a topology learns of its graph, for the collectives that follow it.
#include <exception>

#include "eco/base/errors.h"
#include "preload/backend/group.h"
#include "preload/backend/library_agreement.h"
#include "preload/backend/neighbors.h"

namespace eco::preload {

// Gathered once, in the first call that could arm or learn: before, calls are counted as having no bytes, since what
// they have is not known to a rank without edges. Agreed on by the library's collectives on the program's communicator,
// as arm() does and for its reasons.
void Group::prepare_neighbors(const BlockBytes& mine) {
  if (has_looked_for_neighbors_ || !may_serve() || poisoned() || !has_topology(comm_)) return;
  if (state_ == State::waiting) {
    if (!is_due(0)) return;
    is_due_ = true;
  }
  has_looked_for_neighbors_ = true;
  try {
    LibraryAgreement agreement(comm_, rank_, n_ranks_);
    neighbors_ = gather_neighbors(agreement, comm_, {rank_, n_ranks_}, mine);
  } catch (const Error&) {
    // The library's own collectives failed here, and the program's will tell it so.
  } catch (const std::exception& error) {
    lose("gather the neighbours of", error.what());
  }
}

Fate Group::fate_of_neighbors() const {
  if (!may_serve()) return Fate::communicator;
  return has_looked_for_neighbors_ ? Fate::graph : Fate::waiting;
}

}  // namespace eco::preload
