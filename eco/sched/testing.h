// What tests of schedules by hand share: short names of regions, and what the verifier has to say.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eco/sched/verify.h"

namespace eco::sched::testing {

inline Region in(std::size_t offset, std::size_t bytes) { return {Buffer::input, offset, bytes}; }
inline Region out(std::size_t offset, std::size_t bytes) { return {Buffer::output, offset, bytes}; }
inline Region scratch(std::size_t offset, std::size_t bytes) { return {Buffer::scratch, offset, bytes}; }

inline void expect_right(const coll::CommonProblem& problem, const std::vector<Schedule>& schedules) {
  const auto fault = verify(problem, schedules);
  EXPECT_FALSE(fault) << fault->what;
}

inline void expect_fault(const coll::CommonProblem& problem, const std::vector<Schedule>& schedules,
                         const std::string& words) {
  const auto fault = verify(problem, schedules);
  ASSERT_TRUE(fault) << "not caught; expected: " << words;
  EXPECT_NE(fault->what.find(words), std::string::npos) << fault->what;
}

}  // namespace eco::sched::testing
