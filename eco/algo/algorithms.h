// The algorithms, one file each; the registry lists them.
#pragma once

#include "eco/algo/algorithm.h"

namespace eco::algo {

const Algorithm& broadcast_subnets();
const Algorithm& broadcast_binomial();
const Algorithm& broadcast_ring();
const Algorithm& allreduce_subnets();
const Algorithm& allreduce_binomial();
const Algorithm& allreduce_ring();
const Algorithm& barrier_subnets();
const Algorithm& barrier_binomial();
const Algorithm& barrier_ring();

}  // namespace eco::algo
