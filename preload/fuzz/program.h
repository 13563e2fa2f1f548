// What one job does, as text: one step per line, the same on all ranks.
//
//   17 comm id=3 of=0 kind=split color=0,1,0,1 key=3,2,1,0
//   18 allreduce on=3 type=double op=sum count=100 form=nonblocking request=4
//   19 complete requests=4 way=waitany seed=7
//
// A step's number stays with it when others are taken out, and everything random in it comes from its number and its own
// words: what a call gives does not depend on the calls before it. python/eco/fuzz/steps.py says what each word means.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eco::fuzz {

struct Step {
  int id = 0;
  std::string verb;
  std::string text;  // the whole line

  bool has(const std::string& name) const { return words.contains(name); }
  int number(const std::string& name, int otherwise = 0) const;
  std::string word(const std::string& name, const std::string& otherwise = "") const;
  std::vector<int> numbers(const std::string& name) const;  // "4,7,5"

  std::map<std::string, std::string> words;
};

// Throws std::runtime_error.
std::vector<Step> read_program(const std::string& path);

// A number that looks random and is the same on every machine.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

}  // namespace eco::fuzz
