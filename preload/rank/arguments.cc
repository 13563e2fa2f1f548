#include "preload/rank/arguments.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "eco/base/errors.h"

namespace eco::rank {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::size_t parse_bytes(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (error == std::errc()) {
    if (unit.empty() || unit == "B") return number;
    if (unit == "KiB") return number << 10;
    if (unit == "MiB") return number << 20;
  }
  throw InvalidArgument("size '" + text + "' is no number of bytes; write 1024, 16KiB or 1MiB");
}

Arguments::Arguments(int argc, char** argv, const std::vector<std::string>& names,
                     const std::vector<std::string>& flags) {
  const auto is_among = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  for (int i = 0; i < argc; ++i) {
    const std::string word = argv[i];
    if (is_among(flags, word)) {
      values_[word] = "";
    } else if (is_among(names, word) && i + 1 < argc) {
      values_[word] = argv[++i];
    } else {
      throw InvalidArgument("eco-rank: '" + word + "' is unknown here or lacks its value");
    }
  }
}

std::string Arguments::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw InvalidArgument("eco-rank: " + name + " is needed");
  return found->second;
}

double Arguments::number(const std::string& name, double otherwise, double least, double most) const {
  if (!has(name)) return otherwise;
  const std::string given = text(name);
  double value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc() || end != given.data() + given.size() || !(value >= least && value <= most)) {
    std::ostringstream range;
    range << least << " to " << most;
    throw InvalidArgument("eco-rank: " + name + " '" + given + "' is not a number from " + range.str());
  }
  return value;
}

std::vector<std::string> Arguments::list(const std::string& name) const {
  return has(name) ? split(text(name)) : std::vector<std::string>();
}

std::vector<std::size_t> Arguments::sizes(const std::string& name) const {
  std::vector<std::size_t> sizes;
  for (const std::string& word : list(name)) sizes.push_back(parse_bytes(word));
  return sizes;
}

}  // namespace eco::rank
