// What ranks tell each other about the tree: small messages, or the first bytes of one that carries data.
//
//   Notice n{.kind = Notice::Kind::head, .feeder = 3, .leads = true, .ranks = {5, 6}};
//   std::vector<std::byte> bytes = write(n, first_segment);
//   std::span<const std::byte> data;
//   Notice back = read(bytes, data);                       // data: what followed
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace eco::late {

struct Notice {
  enum class Kind : std::int32_t {
    head,   // from now on `feeder` feeds you
    offer,  // say so if you are there: `feeder` takes care of you, since your parent has not come
    child,  // feed ranks[0]
  };
  Kind kind = Kind::head;
  int feeder = -1;
  int place = 0;             // head, by order of arrival: where in the shape
  bool leads = false;        // head, of a tree mended: feed your own children
  std::vector<int> ranks{};  // head, of a tree mended: feed these too, they are there; of a wave: its members
  std::vector<int> first{};  // of a wave: the members of the first
};

std::size_t notice_bytes(std::size_t n_ranks);
std::vector<std::byte> write(Notice notice, std::span<const std::byte> data = {});
Notice read(std::span<const std::byte> bytes, std::span<const std::byte>& data);

}  // namespace eco::late
