// The errors of ECO's outside: a caller's mistake or the outside world. What is our own mistake is an assertion
// (assert.h), and expected absence is a value (std::optional, a reason). Python has the same classes (eco.errors).
//
//   throw CorruptFile("network file 'n.json': field 'hosts' is missing; measure again with eco characterize");
#pragma once

#include <stdexcept>
#include <string>

namespace eco {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument that no state of the world could make valid.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// Valid, but not served here (by this build, library or machine).
class Unsupported : public Error {
 public:
  using Error::Error;
};

// The user's own time limit passed.
class Timeout : public Error {
 public:
  using Error::Error;
};

// A peer was lost or a transport reported a failure.
class TransportError : public Error {
 public:
  using Error::Error;
};

// A file that is missing, truncated, foreign, or of a version this build does not read.
class CorruptFile : public Error {
 public:
  using Error::Error;
};

}  // namespace eco
