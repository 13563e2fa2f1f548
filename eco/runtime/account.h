// What a communicator found and did while it served, for the report: a line each.
//
//   account.add(now_ns(), [&] { return "a look of 80 ms found quiet"; });   // "12.34 s: a look of 80 ms found quiet"
//   account.take();
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace eco::runtime {

class Account {
 public:
  static constexpr std::size_t kMost = 200;  // lines in all

  explicit Account(std::int64_t began_ns = 0) : began_ns_(began_ns) {}

  // Without memory for it there is no such line: ranks are on their way into a collective.
  template <class Text>
  void add(std::int64_t now_ns, const Text& text) noexcept {
    if (n_lines_ == kMost) return;
    ++n_lines_;
    try {
      char when[48];
      std::snprintf(when, sizeof when, "%.2f s: ", static_cast<double>(now_ns - began_ns_) * 1e-9);
      lines_.push_back(when + text());
    } catch (const std::exception&) {
    }
  }
  // Those since it was last taken.
  std::vector<std::string> take() { return std::exchange(lines_, {}); }

 private:
  std::int64_t began_ns_;
  std::size_t n_lines_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace eco::runtime
