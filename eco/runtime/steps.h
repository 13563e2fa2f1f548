// Steps that all ranks of a group take together, each ended by an agreement: whatever throws on one rank becomes a
// reason on all. Between agreements a rank only does what does not need the others, or what fails on all alike.
//
//   Steps steps(native, rank, n_ranks);
//   steps.together("reading: ", [&] { network = parse(text); });           // or StaysNative on every rank
//   const auto [found, text] = steps.look("", [&] { ... }, [&](Found found, const std::string& text) { ... });
//                                                        // rank 0 looks, all learn what it found and make something of it
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "eco/runtime/agreement.h"

namespace eco::runtime {

// Thrown through the steps, on all ranks the same: the library's collectives stay, and why.
struct StaysNative {
  std::string reason;
  bool failed = false;          // by an error or a disagreement; else nobody wanted or allowed more
  bool transport_lost = false;  // nothing of ECO's may run on this transport any more
  bool wants_time = false;      // the budget was too short; more of it may do
};

// What rank 0 found, as one text for all: a letter, then what belongs to it. Doubtful is a text that all have to look
// after together before it is used; by_hand is the text of a file that the user names, which may be in rank 0's
// environment alone. An error never comes out of look().
enum class Found : char {
  nothing = 'N',
  text = 'T',
  by_hand = 'H',
  measure = 'M',
  doubtful = 'D',
  error = 'E'
};

// All functions but alone() and has_met() are collective.
class Steps {
 public:
  Steps(transport::Native& native, int rank, int n_ranks)
      : agreement_(native, rank, n_ranks), rank_(rank), n_ranks_(n_ranks) {}

  int rank() const { return rank_; }
  int n_ranks() const { return n_ranks_; }
  Agreement& agreement() { return agreement_; }

  // Ends the step on every rank if `work`, which must not communicate, threw on any. `least` as Agreement::failed() has it.
  void together(const std::string& step, const std::function<void()>& work,
                std::span<std::int64_t> least = {});
  // Not collective: what `work` throws here ends the next step on every rank. What ranks say to each other until then must not
  // rest on it.
  void alone(const std::string& step, const std::function<void()>& work);
  // Local: is there something that ends the next step?
  bool has_met() const { return met_ != nullptr; }
  // Rank 0 looks, all learn what it found; what it throws ends the step everywhere. So does what `take` throws, which then
  // gets it on every rank, and must not communicate.
  using Take = std::function<void(Found found, const std::string& text)>;
  std::pair<Found, std::string> look(
      const std::string& step, const std::function<std::pair<Found, std::string>()>& on_rank_0,
      const Take& take = [](Found, const std::string&) {});

 private:
  // Throws what alone() met with.
  void report();

  Agreement agreement_;
  int rank_;
  int n_ranks_;
  std::exception_ptr met_;
};

// "1.2 s".
std::string seconds_text(double seconds);

}  // namespace eco::runtime
