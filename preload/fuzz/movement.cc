// Arguments of broadcast, gather, scatter, allgather, all-to-all, their v- and w-variants, and those of neighbours.
#include <algorithm>
#include <stdexcept>

#include "preload/fuzz/flight.h"

namespace eco::fuzz {
namespace {

// What lies on one side of a call.
enum class Lies {
  nothing,
  one,     // a block
  blocks,  // one for every rank
  mine,    // a block of this rank's length
  each,    // one for every rank, of its length, anywhere
  typed    // and of its own type
};

enum class Who { nobody, root, everybody };

struct Shape {
  const char* verb;
  Lies in, out;
  bool root_alone_in, root_alone_out;  // significant
  Who in_place;
};

constexpr Shape kShapes[] = {
    {"bcast", Lies::nothing, Lies::one, false, false, Who::nobody},
    {"gather", Lies::one, Lies::blocks, false, true, Who::root},
    {"gatherv", Lies::mine, Lies::each, false, true, Who::root},
    {"scatter", Lies::blocks, Lies::one, true, false, Who::root},
    {"scatterv", Lies::each, Lies::mine, true, false, Who::root},
    {"allgather", Lies::one, Lies::blocks, false, false, Who::everybody},
    {"allgatherv", Lies::mine, Lies::each, false, false, Who::everybody},
    {"alltoall", Lies::blocks, Lies::blocks, false, false, Who::everybody},
    {"alltoallv", Lies::each, Lies::each, false, false, Who::everybody},
    {"alltoallw", Lies::typed, Lies::typed, false, false, Who::everybody},
    {"neighbor_allgather", Lies::one, Lies::blocks, false, false, Who::nobody},
    {"neighbor_alltoall", Lies::blocks, Lies::blocks, false, false, Who::nobody},
    {"neighbor_allgatherv", Lies::mine, Lies::each, false, false, Who::nobody},
    {"neighbor_alltoallv", Lies::each, Lies::each, false, false, Who::nobody},
    {"neighbor_alltoallw", Lies::typed, Lies::typed, false, false, Who::nobody},
};

// Of a ring, before and behind.
constexpr int kNeighbours = 2;

// One side as MPI is told.
struct Side {
  Memory memory;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<int> counts, places;
  std::vector<MPI_Datatype> types;
};

class Sides {
 public:
  Sides(Call& call, int n) : call_(call), n_(n) {}

  Side make(Lies lies, int side) {
    Side made;
    const std::uint64_t seed =
        mixed(static_cast<std::uint64_t>(call_.step.id), static_cast<std::uint64_t>(call_.rank),
              static_cast<std::uint64_t>(side));
    const int way = way_of(side, 0);
    Span span;
    if (lies == Lies::one || lies == Lies::blocks) {
      const Layout layout = call_.types.whole(signature(), count(), way);
      made.count = layout.count;
      made.type = layout.type;
      span = span_of(layout, lies == Lies::one ? 1 : n_);
    } else if (lies == Lies::mine) {
      made.count = of(call_.group.me, call_.group.me);
      made.type = call_.types.element(signature(), way % kElementWays);
      span = span_of({made.count, made.type});
    } else if (lies == Lies::each) {
      span = place_each(made, way % kElementWays);
    } else {
      span = place_typed(made, side);
    }
    made.memory = Memory(span, seed);
    return made;
  }

 private:
  std::string signature() const { return call_.step.word("type", "int"); }
  int count() const { return call_.step.number("count"); }
  int of(int i, int j) const { return uneven(call_.step.number("uneven"), count(), i, j, call_.group.n); }
  // Of block j, as this rank has it: all-to-alls have one for each pair.
  int of_block(int j) const {
    const std::string& verb = call_.step.verb;
    const int n = call_.group.n;
    const int other = verb.starts_with("neighbor") ? (call_.group.me + (j == 0 ? n - 1 : 1)) % n : j;
    return verb.find("alltoall") != std::string::npos ? of(call_.group.me, other) : of(other, other);
  }

  int way_of(int side, int j) const {
    const auto dice = static_cast<std::uint64_t>(call_.step.number("layout"));
    if (dice == 0) return 0;
    const int rank = call_.step.number("alike") != 0 ? 0 : call_.rank;
    return static_cast<int>(
        mixed(dice, static_cast<std::uint64_t>(rank * 2 + side), static_cast<std::uint64_t>(j)) % kWays);
  }

  // Blocks in the order of ranks or against it, with holes between them.
  template <class Place>
  void in_turn(const Place& place) const {
    for (int i = 0; i < n_; ++i) place(call_.step.number("turned") != 0 ? n_ - 1 - i : i);
  }

  Span place_each(Side& side, int way) {
    const auto n = static_cast<std::size_t>(n_);
    side.type = call_.types.element(signature(), way);
    side.counts.resize(n);
    side.places.resize(n);
    int behind = 0;
    in_turn([&](int j) {
      const auto at = static_cast<std::size_t>(j);
      side.counts[at] = of_block(j);
      side.places[at] = behind;
      behind += side.counts[at] + call_.step.number("holes");
    });
    return span_of({behind, side.type});
  }

  Span place_typed(Side& side, int which) {
    const auto n = static_cast<std::size_t>(n_);
    side.counts.resize(n);
    side.places.resize(n);
    side.types.resize(n);
    constexpr MPI_Aint kAligned = 16;
    MPI_Aint behind = 0;
    in_turn([&](int j) {
      const auto at = static_cast<std::size_t>(j);
      const Layout layout = call_.types.whole(signature(), of_block(j), way_of(which, j + 1));
      const Span span = span_of(layout);
      const MPI_Aint place = (behind - span.from + kAligned - 1) / kAligned * kAligned;
      side.counts[at] = layout.count;
      side.types[at] = layout.type;
      side.places[at] = static_cast<int>(place);
      behind = place + span.to + call_.step.number("holes") * kAligned;
    });
    return {0, behind};
  }

  Call& call_;
  int n_;
};

}  // namespace

void prepare_movement(Call& call) {
  const auto* const shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                         [&](const Shape& each) { return call.step.verb == each.verb; });
  if (shape == std::end(kShapes)) throw std::runtime_error("call '" + call.step.verb + "' moves no data");
  const Group& group = call.group;
  const bool is_inter = group.n_remote > 0;
  Sides sides(call, group.is_ring && call.step.verb.starts_with("neighbor") ? kNeighbours
                    : is_inter                                              ? group.n_remote
                                                                            : group.n);
  Arguments& a = call.arguments;
  Side in, out;
  if (shape->in != Lies::nothing) in = sides.make(shape->in, 0);
  out = sides.make(shape->out, 1);
  call.in = std::move(in.memory);
  call.out = std::move(out.memory);
  a.in = call.in.at();
  a.out = call.out.at();
  a.in_type = in.type;
  a.out_type = out.type;
  a.in_types = in.types;
  a.out_types = out.types;
  a.counts = {in.count, out.count, in.counts, out.counts, in.places, out.places};

  const bool in_place = call.step.number("in_place") != 0;
  if (in_place && (shape->in_place == Who::everybody || (shape->in_place == Who::root && call.is_root))) {
    if (shape->root_alone_in)
      a.out = MPI_IN_PLACE;
    else
      a.in = MPI_IN_PLACE;
  }
  // What is not significant on this rank may be anything.
  if (is_inter || call.is_root || call.step.number("wild") == 0) return;
  if (shape->root_alone_in) {
    a.in = nullptr;
    a.counts.in = -7;
    a.in_type = MPI_DATATYPE_NULL;
  }
  if (shape->root_alone_out) {
    a.out = nullptr;
    a.counts.out = -7;
    a.out_type = MPI_DATATYPE_NULL;
  }
}

}  // namespace eco::fuzz
