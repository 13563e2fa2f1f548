// What one rank is about to call, as it tells the others under ECO_CHECK=communication, and in what theirs differ.
//
//   CallRecord mine("MPI_Bcast");
//   mine.root = 0, mine.bytes = 1024;
//   if (auto text = difference(records, "MPI_COMM_WORLD", 17)) ...      // records[r] is rank r's
//
// Holds only what MPI wants equal on all ranks, or what follows from it. Sent as it lies in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace eco::runtime {

struct CallRecord {
  // Longer names end where there is no more room.
  using Name = std::array<char, 48>;
  static Name to_name(std::string_view text);
  static constexpr std::int32_t kNoRoot = INT32_MIN;
  static constexpr std::uint64_t kNoBytes = UINT64_MAX;
  enum class Arguments : std::int32_t { sound, unfit, refused };

  CallRecord() = default;
  explicit CallRecord(std::string_view name) : call(to_name(name)) {}

  Name call{};       // the same for the form with large counts
  Name operation{};  // of a reduction, and its type: the library's own by name
  Name element{};
  std::int32_t root = kNoRoot;
  // Unfit: this rank's two sides are not of one length. Refused: MPI has an error for them.
  Arguments arguments = Arguments::sound;
  std::uint64_t bytes = kNoBytes;  // of the whole
  std::uint64_t lengths = 0;       // digest of the blocks', where they are not all alike
  std::uint64_t recipe = 0;        // digest of what would serve it; 0: the library

  friend bool operator==(const CallRecord&, const CallRecord&) = default;
};

// Nothing if all are equal. Else one line: "call 17 on MPI_COMM_WORLD (8 ranks): ranks 0-2,4-7 call MPI_Bcast of 1024
// bytes, root 0; rank 3 calls MPI_Bcast of 512 bytes, root 0". Those that most ranks have come first.
std::optional<std::string> difference(std::span<const CallRecord> records, const std::string& communicator,
                                      std::uint64_t number);

// "0-2,4": of ranks in order.
std::string rank_list(std::span<const int> ranks);

}  // namespace eco::runtime
