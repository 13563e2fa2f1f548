#include "preload/backend/call_check.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <utility>

#include "preload/backend/background.h"
#include "preload/backend/session.h"

namespace eco::preload {
namespace {

using runtime::CallRecord;

// Answers: static, because nobody waits until they are sent.
constexpr std::array<std::int32_t, 2> kAnswers = {0, 1};
enum : std::size_t { kGo, kDiffers };

enum : std::size_t { kTold, kAnswer };  // requests of a rank that is not rank 0

// Communicators of one rank 0 have two tags each: what it is told, and what it answers.
constexpr int kTagsEach = 2;
// Of MPI_COMM_WORLD, which needs none from its rank 0.
constexpr int kNumberOfWorld = 0;

int next_number() {
  static const int n_numbers = transport::mpi::largest_tag() / kTagsEach;
  static std::atomic<int> numbers{kNumberOfWorld};
  return 1 + numbers.fetch_add(1) % (n_numbers - 1);
}

std::string name_of(MPI_Comm comm, const std::vector<int>& world_ranks) {
  if (comm == MPI_COMM_WORLD) return "MPI_COMM_WORLD";
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  std::vector<int> sorted = world_ranks;
  std::sort(sorted.begin(), sorted.end());
  std::string text = length > 0 ? name : "a communicator";
  text += " of MPI_COMM_WORLD's ranks ";
  return text + runtime::rank_list(sorted);
}

}  // namespace

CallCheck::Pending::Pending(const char* called, const CallRecord& record, std::size_t n_ranks,
                            bool is_first_rank)
    : name(called),
      records(is_first_rank ? n_ranks : 1, record),
      requests(is_first_rank ? n_ranks - 1 : 2, MPI_REQUEST_NULL) {}

CallCheck::CallCheck(MPI_Comm comm, MPI_Comm over, int rank, std::vector<int> world_ranks)
    : comm_(comm), over_(over), rank_(rank), world_ranks_(std::move(world_ranks)) {
  name_ = name_of(comm, world_ranks_);
  // Rank 0 knows who is missing, unless it is itself.
  watch_ = Session::instance().watch(
      recorder_, rank, static_cast<int>(world_ranks_.size()),
      rank == 0 ? ", comparing calls (ECO_CHECK)," : ", whose calls its rank 0 compares (ECO_CHECK),");
}

bool CallCheck::agrees(const char* name, const CallRecord& mine, Waits waits) {
  if (differs()) return false;
  const std::lock_guard lock(busy_);
  // Found by another thread until the lock was free: nobody answers what would be told now.
  if (differs()) return false;
  if (pending_.empty()) recorder_.begin_call(name, static_cast<int>(world_ranks_.size()));
  pending_.emplace_back(name, mine, world_ranks_.size(), is_first_rank());
  ++n_calls_;
  n_pending_.fetch_add(1, std::memory_order_release);
  ask_for_number();
  progress(waits);
  return !differs();
}

void CallCheck::advance() {
  if (!is_pending()) return;
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock) return;
  progress(Waits::no);
  tells_ = differs();
}

// The same on all ranks whatever they call, and beside whatever they call on this communicator.
void CallCheck::ask_for_number() {
  if (number_ >= 0 || number_request_ != MPI_REQUEST_NULL) return;
  if (comm_ == MPI_COMM_WORLD) {
    number_ = kNumberOfWorld;
    return;
  }
  if (is_first_rank()) told_number_ = number_ = next_number();
  PMPI_Ibcast(&told_number_, 1, MPI_INT, 0, comm_, &number_request_);
  if (!is_first_rank()) recorder_.message_posted(0, false);
}

bool CallCheck::has_number(Waits waits) {
  if (number_ >= 0) return true;
  int there = 1;
  if (waits == Waits::yes)
    PMPI_Wait(&number_request_, MPI_STATUS_IGNORE);
  else
    transport::mpi::test_from_inside(&number_request_, &there);
  if (there == 0) return false;
  recorder_.message_done(0, false);
  number_ = told_number_;
  return true;
}

void CallCheck::post(Pending& pending) {
  const int told = kTagsEach * number_;
  const int answered = told + 1;
  constexpr int kBytes = static_cast<int>(sizeof(CallRecord));
  pending.posted = true;
  if (!is_first_rank()) {
    PMPI_Isend(pending.records.data(), kBytes, MPI_BYTE, world_ranks_[0], told, over_,
               &pending.requests[kTold]);
    PMPI_Irecv(&pending.answer, 1, MPI_INT32_T, world_ranks_[0], answered, over_, &pending.requests[kAnswer]);
    recorder_.message_posted(0, false);
    return;
  }
  for (std::size_t i = 0; i < pending.requests.size(); ++i) {
    PMPI_Irecv(&pending.records[i + 1], kBytes, MPI_BYTE, world_ranks_[i + 1], told, over_,
               &pending.requests[i]);
    recorder_.message_posted(static_cast<int>(i) + 1, false);
  }
}

void CallCheck::progress(Waits waits) {
  while (!pending_.empty()) {
    if (!has_number(waits)) return;
    for (Pending& pending : pending_) {
      if (!pending.posted) post(pending);
    }
    if (!complete(pending_.front(), waits)) return;
    conclude(pending_.front());
    if (differs()) return give_up();
    n_agreed_.fetch_add(1, std::memory_order_release);
    pending_.pop_front();
    n_pending_.fetch_sub(1, std::memory_order_release);
    if (pending_.empty())
      recorder_.end_call();
    else
      recorder_.begin_call(pending_.front().name, static_cast<int>(world_ranks_.size()));
  }
}

bool CallCheck::complete(Pending& pending, Waits waits) {
  std::vector<MPI_Request>& requests = pending.requests;
  const auto note = [&](std::size_t which) {
    if (is_first_rank()) recorder_.message_done(static_cast<int>(which) + 1, false);
    if (!is_first_rank() && which == kAnswer) recorder_.message_done(0, false);
  };
  const auto is_left = [](MPI_Request request) { return request != MPI_REQUEST_NULL; };
  std::vector<int> done(waits == Waits::yes ? requests.size() : 0);
  while (waits == Waits::yes && std::any_of(requests.begin(), requests.end(), is_left)) {
    int n_done = 0;
    PMPI_Waitsome(static_cast<int>(requests.size()), requests.data(), &n_done, done.data(),
                  MPI_STATUSES_IGNORE);
    for (int i = 0; i < n_done; ++i) note(static_cast<std::size_t>(done[static_cast<std::size_t>(i)]));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    int is_done = 0;
    if (is_left(requests[i])) transport::mpi::test_from_inside(&requests[i], &is_done);
    if (is_done != 0) note(i);
  }
  if (std::any_of(requests.begin(), requests.end(), is_left)) return false;
  // Rank 0's part of it, which is over soon: who told something has its number.
  int is_told = 1;
  if (number_request_ != MPI_REQUEST_NULL) {
    if (waits == Waits::yes)
      PMPI_Wait(&number_request_, MPI_STATUS_IGNORE);
    else
      transport::mpi::test_from_inside(&number_request_, &is_told);
  }
  return is_told != 0;
}

void CallCheck::conclude(Pending& pending) {
  if (!is_first_rank()) {
    if (pending.answer != kAnswers[kGo]) differs_.store(true, std::memory_order_release);
    return;
  }
  std::optional<std::string> text;
  try {
    text = runtime::difference(pending.records, name_, n_agreed_ + 1);
  } catch (const std::bad_alloc&) {
    text = "which, there is no memory to say";
  }
  // Before anybody's error handler may end the job.
  if (text) std::fprintf(stderr, "eco: ranks differ in a collective call: %s\n", text->c_str());
  for (std::size_t i = 1; i < world_ranks_.size(); ++i) {
    MPI_Request sent = MPI_REQUEST_NULL;
    PMPI_Isend(&kAnswers[text ? kDiffers : kGo], 1, MPI_INT32_T, world_ranks_[i], kTagsEach * number_ + 1,
               over_, &sent);
    PMPI_Request_free(&sent);
  }
  if (text) differs_.store(true, std::memory_order_release);
}

void CallCheck::give_up() {
  if (const auto lane = lane_.lock()) lane->lost = true;
  recorder_.end_call();
  // The library may still write to what is left.
  static_cast<void>(new std::list<Pending>(std::move(pending_)));
  pending_.clear();
  n_pending_.store(0);
}

void CallCheck::set_lane(std::weak_ptr<Lane> lane) {
  const std::lock_guard lock(busy_);
  lane_ = std::move(lane);
}

void CallCheck::forget_comm() {
  const std::lock_guard lock(busy_);
  comm_ = MPI_COMM_NULL;
  forgotten_.store(true);
}

MPI_Comm CallCheck::take_comm_to_tell() {
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock || !tells_.exchange(false)) return MPI_COMM_NULL;
  return comm_ != MPI_COMM_NULL ? comm_ : MPI_COMM_WORLD;
}

}  // namespace eco::preload
