// First in, first out, in one piece of memory that is kept: once it has been as long as it gets, nothing is allocated.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace eco::transport {

template <typename T>
class Queue {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  T& operator[](std::size_t i) { return items_[head_ + i]; }
  T& front() { return items_[head_]; }

  void push(T item) {
    // What has left is more than what is there: moving this down costs less than what came in since.
    if (head_ > 0 && items_.size() == items_.capacity() && 2 * head_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    items_.push_back(std::move(item));
  }
  void pop() {
    if (++head_ == items_.size()) clear();
  }
  void clear() {
    items_.clear();
    head_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t head_ = 0;
};

}  // namespace eco::transport
