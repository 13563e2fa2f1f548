#include "preload/backend/background.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>

#include "preload/backend/session.h"

namespace eco::preload {
namespace {

// A look at one call is a look of the library at all that is under way; with very many calls they take turns.
constexpr std::size_t kMostLooks = 16;
// As many calls as programs usually have under way on one communicator; each has room for its messages.
constexpr std::size_t kIdleKept = 8;

}  // namespace

// The program may free its types as soon as the call has returned. Not by MPI_Type_dup, which would call what the program
// has hung on them.
class KeptType {
 public:
  KeptType() = default;
  ~KeptType() {
    if (kept_ != MPI_DATATYPE_NULL) PMPI_Type_free(&kept_);
  }
  KeptType(const KeptType&) = delete;
  KeptType& operator=(const KeptType&) = delete;

  void keep(MPI_Datatype& type) {
    if (is_predefined(type)) return;
    if (kept_ == MPI_DATATYPE_NULL) {
      PMPI_Type_contiguous(1, type, &kept_);
      PMPI_Type_commit(&kept_);
    }
    type = kept_;
  }

 private:
  MPI_Datatype kept_ = MPI_DATATYPE_NULL;
};

Runner::Runner(MPI_Comm comm, const transport::mpi::Share& share)
    : transport(comm, share),
      executor(transport),
      watch(Session::instance().watch(executor.recorder(), share.rank, static_cast<int>(share.ranks.size()),
                                      ", in a nonblocking call that goes on while the program is in MPI,")) {}

struct Background::Flight {
  Flight(std::shared_ptr<Lane> on, BackgroundCall what) : lane(std::move(on)), call(std::move(what)) {
    // Before: `output` and `whole` have one type where there are pieces.
    if (call.sides.input) input_type.keep(call.sides.input->type);
    if (call.sides.output) {
      output_type.keep(call.sides.output->type);
      call.sides.whole.type = call.sides.output->type;
    }
    if (!call.sides.pieces.empty()) call.sides.pieces = call.sides.pieces.kept_in(piece_numbers);
  }

  std::shared_ptr<Lane> lane;
  BackgroundCall call;
  KeptType input_type;
  KeptType output_type;
  std::vector<long long> piece_numbers;  // the program's arrays are its own again
  std::unique_ptr<Runner> runner;
  std::optional<Binding> binding{};
  int first_tag = 0;
  int done_tag = 0;
  bool begun = false;

  int end_tag() const { return first_tag + call.n_tags; }
  bool shares_tags_with(const Flight& other) const {
    return lane == other.lane && first_tag < other.end_tag() && other.first_tag < end_tag();
  }
};

Background::Background() = default;
Background::~Background() = default;

bool Background::open() {
  if (!ProgressHook::exists()) return false;
  if (PMPI_Comm_dup(MPI_COMM_SELF, &self_) != MPI_SUCCESS) {
    self_ = MPI_COMM_NULL;
    return false;
  }
  PMPI_Comm_set_errhandler(self_, MPI_ERRORS_RETURN);
  return true;
}

void Background::close() {
  if (!is_open()) return;
  busy_.lock();
  ProgressHook::forget();
  // A program that ends with calls under way has erred; what they point into stays.
  for (std::unique_ptr<Flight>& flight : flights_) static_cast<void>(flight.release());
  flights_.clear();
  next_ = flights_.end();
  n_flights_.store(0);
  busy_.unlock();
  PMPI_Comm_free(&self_);
}

void Background::forget_comm(Lane& lane) {
  const std::lock_guard lock(busy_);
  lane.comm = MPI_COMM_NULL;
}

void Background::carry_beside() {
  if (is_open()) hook();
}

void Background::hook() {
  busy_.lock();
  const bool hooks = !hooked_.exchange(true);
  busy_.unlock();
  if (hooks) ProgressHook::call(&Background::on_progress);
}

int Background::take_tag() {
  if (free_tags_.empty()) return next_tag_++;
  const int tag = free_tags_.back();
  free_tags_.pop_back();
  return tag;
}

void Background::begin(std::shared_ptr<Lane> lane, BackgroundCall call, MPI_Request* request) {
  auto flight = std::make_unique<Flight>(std::move(lane), std::move(call));
  {
    const std::lock_guard lock(busy_);
    Lane& on = *flight->lane;
    const int n_tags = flight->call.n_tags;
    if (on.next_tag + n_tags > on.share.n_tags) on.next_tag = 0;
    flight->first_tag = on.next_tag;
    on.next_tag += n_tags;
    flight->done_tag = take_tag();
    PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, flight->done_tag, self_, request);
    flights_.push_back(std::move(flight));
    n_flights_.fetch_add(1, std::memory_order_release);
  }
  hook();
  advance(false);
}

ProgressHook::Next Background::on_progress() { return Session::instance().background().advance(true); }

ProgressHook::Next Background::advance(bool is_hook) {
  // Every progress of the library comes through here: most find nothing to do.
  if (n_flights_.load(std::memory_order_acquire) == 0 && !hooked_.load()) return ProgressHook::Next::idle;
  if (is_hook) Session::instance().advance_beside();
  if (!busy_.try_lock()) return ProgressHook::Next::nothing;
  moved_ = false;
  const std::size_t n_looks = std::min(flights_.size(), kMostLooks);
  for (std::size_t i = 0; i < n_looks; ++i) {
    if (next_ == flights_.end()) next_ = flights_.begin();
    const auto flight = next_++;
    if (!advance(**flight)) continue;
    flights_.erase(flight);
    n_flights_.fetch_sub(1, std::memory_order_release);
  }
  const bool idle = flights_.empty() && !Session::instance().may_be_pending_beside();
  if (idle && is_hook) hooked_.store(false);
  const bool moved = moved_;
  const MPI_Comm lost_on = std::exchange(lost_on_, MPI_COMM_NULL);
  busy_.unlock();
  // The program's handler may call whatever it likes, or end the job.
  if (lost_on != MPI_COMM_NULL) PMPI_Comm_call_errhandler(lost_on, MPI_ERR_OTHER);
  if (idle) return ProgressHook::Next::idle;
  return moved ? ProgressHook::Next::moved : ProgressHook::Next::nothing;
}

// A call whose tags are still used by an earlier one of its communicator waits for that to end, on this rank alone:
// every rank began the earlier one before, so it needs nothing from the later.
bool Background::may_begin(const Flight& flight) const {
  const BackgroundCall& call = flight.call;
  if (call.check && !call.check->has_agreed(call.number_in_check)) return false;
  for (const std::unique_ptr<Flight>& other : flights_) {
    if (other.get() == &flight) return true;
    if (other->shares_tags_with(flight)) return false;
  }
  return true;
}

bool Background::advance(Flight& flight) {
  bool good = !flight.lane->lost;
  bool ended = false;
  try {
    if (good && !flight.begun) {
      if (!may_begin(flight)) return false;
      Lane& lane = *flight.lane;
      if (lane.idle.empty()) {
        flight.runner = std::make_unique<Runner>(lane.private_comm, lane.share);
      } else {
        flight.runner = std::move(lane.idle.back());
        lane.idle.pop_back();
      }
      const BackgroundCall& call = flight.call;
      flight.binding.emplace(flight.runner->packed, call.problem, lane.share.rank, call.sides);
      exec::Buffers buffers;
      if (flight.call.reduction) buffers.combine = flight.call.reduction->combine();
      good = flight.binding->before(buffers) &&
             flight.runner->executor.begin(*call.schedule, buffers, flight.first_tag, call.recipe_digest);
      flight.begun = true;
      moved_ = true;
    }
    if (good) good = flight.runner->executor.progress(ended) == transport::Status::ok;
    if (good && !ended) return false;
    good = good && flight.binding->after();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "eco: cannot serve a nonblocking call (%s); its communicator is lost\n",
                 error.what());
    good = false;
  }
  moved_ = true;
  complete(flight, good);
  return true;
}

void Background::complete(Flight& flight, bool good) {
  if (good) {
    const coll::CommonProblem& problem = flight.call.problem;
    const BackgroundCall::Counted& counted = flight.call.counted;
    Session::instance().counters().served(problem.collective, problem.bytes, counted.took_ns, counted.gain,
                                          counted.crossing);
    if (counted.profile != nullptr)
      counted.profile->note(Profile::number_of(problem.collective), problem.bytes, Fate::served,
                            counted.took_ns);
    flight.runner->packed.let_go_of_much();
    std::vector<std::unique_ptr<Runner>>& idle = flight.lane->idle;
    if (idle.size() < kIdleKept) idle.push_back(std::move(flight.runner));
  } else {
    if (!flight.lane->lost.exchange(true)) {
      lost_on_ = flight.lane->comm != MPI_COMM_NULL ? flight.lane->comm : MPI_COMM_WORLD;
    }
    // The library may still write to what it points into.
    if (flight.runner) flight.runner->watch.reset();
    static_cast<void>(flight.runner.release());
  }
  // Something instead of nothing is more than the request has room for: whoever waits for it gets an error.
  static const std::byte too_much{};
  MPI_Request sent = MPI_REQUEST_NULL;
  PMPI_Isend(&too_much, good ? 0 : 1, MPI_BYTE, 0, flight.done_tag, self_, &sent);
  PMPI_Request_free(&sent);
  free_tags_.push_back(flight.done_tag);
}

}  // namespace eco::preload
