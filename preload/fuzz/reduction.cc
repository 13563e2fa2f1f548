// Arguments of reductions and scans, and what their results are held against.
#include <cfloat>
#include <cmath>
#include <cstring>

#include "preload/fuzz/flight.h"

namespace eco::fuzz {
namespace {

// Elements of one rank's vectors.
struct Extents {
  int in = 0;      // that it gives
  int result = 0;  // that it gets
  int first = 0;   // the place of the first of them in the whole vector
};

Extents extents_of(const Call& call) {
  const Group& group = call.group;
  const int count = call.step.number("count");
  if (call.step.verb == "reduce_scatter_block") return {count * group.n, count, count * group.me};
  if (call.step.verb != "reduce_scatter") return {count, count, 0};
  Extents extents;
  for (int i = 0; i < group.n; ++i) {
    const int length = uneven(call.step.number("uneven"), count, i, i, group.n);
    if (i == group.me) extents.first = extents.in, extents.result = length;
    extents.in += length;
  }
  return extents;
}

// Whether a sum is as close to the true one as any order of adding brings it: of n summands n - 1 roundings, each of at
// most half a unit in the last place of a partial sum.
bool is_close(double got, std::size_t index, int first_rank, int end_rank, const Call& call, Values values,
              double unit) {
  long double sum = 0, size = 0;
  for (int i = first_rank; i < end_rank; ++i) {
    values.rank = call.group.world[static_cast<std::size_t>(i)];
    const double one = real_value(values, index);
    sum += one;
    size += std::fabs(one);
  }
  return std::fabs(static_cast<long double>(got) - sum) <= (end_rank - first_rank) * unit * size;
}

}  // namespace

void prepare_reduction(Call& call) {
  const Step& step = call.step;
  const Element element = element_of(step.word("type", "int"), call.types);
  call.operation = operation_of(step.word("op"));
  const Extents extents = extents_of(call);
  const bool is_reduce = step.verb == "reduce";
  const bool in_place = step.number("in_place") != 0 && (!is_reduce || call.is_root);
  const int n_out = in_place ? extents.in : extents.result;
  const auto room = [&](int n) { return Span{0, static_cast<MPI_Aint>(element.extent) * n}; };
  const auto id = static_cast<std::uint64_t>(step.id), rank = static_cast<std::uint64_t>(call.rank);
  call.in = Memory(room(extents.in), mixed(id, rank, 0));
  call.out = Memory(room(n_out), mixed(id, rank, 1));

  Arguments& a = call.arguments;
  a.in = in_place ? MPI_IN_PLACE : call.in.at();
  a.out = call.out.at();
  a.out_type = element.type;
  a.op = call.operation.op;
  a.counts.out = step.number("count");
  for (int i = 0; i < call.group.n; ++i)
    a.counts.each_out.push_back(uneven(step.number("uneven"), a.counts.out, i, i, call.group.n));
  if (is_reduce && !call.is_root && step.number("wild") != 0 && call.group.n_remote == 0) a.out = nullptr;

  const Values values{.seed = id, .rank = call.rank, .op = step.word("op"), .real = step.number("real") != 0};
  call.refill = [&call, element, values, n = static_cast<std::size_t>(extents.in), in_place] {
    fill(in_place ? call.out.at() : call.in.at(), n, element, values);
  };
  call.settle = [&call, element, values, extents, n_out, is_reduce](Entry& entry) {
    std::byte* out = call.out.at();
    const Group& group = call.group;
    const bool before = call.step.verb == "exscan";
    const bool gets = (!is_reduce || call.is_root) && !(before && group.me == 0) && group.n_remote == 0;
    // The standard leaves open: the rest of the buffer of a reduce-scatter in place, rank 0's of an exscan.
    const auto keep = static_cast<std::size_t>(before && group.me == 0 ? 0 : extents.result) * element.extent;
    std::memset(out + keep, 0, static_cast<std::size_t>(n_out) * element.extent - keep);
    if (!values.real || !gets) return forget_what_is_open(out, static_cast<std::size_t>(n_out), element);
    if (call.step.verb == "allreduce") entry.alike = digest({out, keep});
    const bool up_to_me = before || call.step.verb == "scan";
    const int end = !up_to_me ? group.n : group.me + (before ? 0 : 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(extents.result); ++i) {
      double got = 0;
      if (element.extent == sizeof(float)) {
        float narrow = 0;
        std::memcpy(&narrow, out + i * element.extent, sizeof narrow);
        got = static_cast<double>(narrow);
      } else {
        std::memcpy(&got, out + i * element.extent, sizeof got);
      }
      const double unit = element.extent == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
      if (!is_close(got, static_cast<std::size_t>(extents.first) + i, 0, end, call, values, unit))
        entry.is_wrong = 1;
    }
    std::memset(out, 0, keep);
  };
}

}  // namespace eco::fuzz
