// The command line of eco-rank: a verb, then --name value pairs and --flags.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace eco::rank {

class Arguments {
 public:
  // Local. `flags` take no value. Throws InvalidArgument for what is neither in `names` nor in `flags`.
  Arguments(int argc, char** argv, const std::vector<std::string>& names,
            const std::vector<std::string>& flags);

  bool has(const std::string& name) const { return values_.contains(name); }
  // Throw InvalidArgument if the value is missing (without a default), no number, or out of range.
  std::string text(const std::string& name) const;
  double number(const std::string& name, double otherwise, double least, double most) const;
  std::vector<std::string> list(const std::string& name) const;   // empty if absent
  std::vector<std::size_t> sizes(const std::string& name) const;  // "8,16KiB,1MiB"; empty if absent

 private:
  std::map<std::string, std::string> values_;
};

// Local. "16KiB", "1MiB", "1024" as bytes. Throws InvalidArgument.
std::size_t parse_bytes(const std::string& text);

// What went wrong on this rank, in words; the process then ends the job with this code.
inline constexpr int kBadUsage = 2;
inline constexpr int kWrongResult = 3;
inline constexpr int kFailed = 1;

// The verbs. Collective over MPI_COMM_WORLD; return the exit code.
int bench(int argc, char** argv);
int characterize(int argc, char** argv);
int tune(int argc, char** argv);
int time(int argc, char** argv);
int trace(int argc, char** argv);

}  // namespace eco::rank
