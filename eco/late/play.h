// Sources driven through one order of events, with every legal nastiness: what a proof is made of.
//
//   Play play(sources, seed);
//   play.enter(2);                       // in any order
//   play.settle();                       // all messages arrive, patience is over nowhere
//   play.settle_patiently();             // and then everywhere, again and again until nothing happens
//   play.to_the_end();                   // everybody who has not entered does; any order of all events, by the seed
//   std::string fault = play.fault();    // "" if all are done and nothing is left over
//
// An eager send is captured when it is posted or when it is matched, by the seed, and memory to be written is scribbled over
// as soon as a receive is posted. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "eco/exec/source.h"
#include "eco/late/mail.h"

namespace eco::late {

class Play {
 public:
  // Sources by rank; they outlive this.
  Play(std::vector<ScheduleSource*> sources, std::uint64_t seed);

  void enter(int rank);
  void settle();
  void settle_patiently();
  void to_the_end();
  // What went wrong so far, and what is left over.
  std::string fault() const;
  std::size_t n_messages() const { return n_messages_; }

 private:
  struct Event {
    int rank;
    Ticket ticket;
  };

  void take_orders(int rank);
  void meet(Meeting meeting);
  void deliver(Event event);
  void wake(Event event);
  void note_done(int rank);
  void complain(int rank, const std::string& what);
  Event take(std::vector<Event>& events, std::size_t index);

  std::vector<ScheduleSource*> sources_;
  std::vector<bool> entered_;
  std::vector<bool> done_;
  Mail mail_;
  std::vector<Event> completions_;
  std::vector<Event> wakes_;
  std::minstd_rand random_;  // millions of plays are seeded: others take longer to seed than a play does
  std::string fault_;
  std::size_t n_messages_ = 0;
};

}  // namespace eco::late
