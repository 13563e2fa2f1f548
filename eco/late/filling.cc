#include "eco/late/filling.h"

#include <deque>

namespace eco::late {

std::vector<int> order_of_filling(const algo::Tree& shape, Filling filling) {
  std::vector<int> order;
  std::deque<int> next{shape.root};
  while (!next.empty()) {
    const int place = next.front();
    next.pop_front();
    order.push_back(place);
    const std::vector<int>& children = shape.children[static_cast<std::size_t>(place)];
    if (filling == Filling::breadth_first) {
      next.insert(next.end(), children.begin(), children.end());
    } else {
      next.insert(next.begin(), children.begin(), children.end());
    }
  }
  order.erase(order.begin());
  return order;
}

}  // namespace eco::late
