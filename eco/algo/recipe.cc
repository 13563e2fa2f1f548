#include "eco/algo/recipe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

#include "eco/base/errors.h"

namespace eco::algo {
namespace {

constexpr std::array<std::string_view, 5> kShapes = {"chain", "binomial", "flat", "kary", "knomial"};
constexpr std::array<std::string_view, 2> kIslands = {"subnets", "hosts"};

// Powers of it times a group's size stay far from what an int holds.
constexpr int kMostDegree = 1024;

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw InvalidArgument("recipe '" + std::string(text) + "': " + why);
}

template <class Number>
Number number(std::string_view text, std::string_view key, std::string_view value, Number least = 0) {
  Number result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{} || end != value.data() + value.size() || result < least) {
    refuse(text, std::string(key) + " is not a number: '" + std::string(value) + "'");
  }
  return result;
}

// "2,0,1", no number below `least`.
std::vector<int> numbers(std::string_view text, std::string_view key, std::string_view value, int least = 0) {
  std::vector<int> list;
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    list.push_back(number<int>(text, key, value.substr(0, comma), least));
    value = comma == std::string_view::npos ? std::string_view{} : value.substr(comma + 1);
  }
  return list;
}

// The lists of Params, by the key that names them in a recipe's text.
struct ListKey {
  std::string_view key;
  std::vector<int> Params::* list;
  int least;
};
constexpr std::array<ListKey, 7> kLists = {{{"order", &Params::order, 0},
                                            {"tree", &Params::tree, -1},
                                            {"first", &Params::first, 0},
                                            {"owners", &Params::owners, 0},
                                            {"ring", &Params::ring, 0},
                                            {"sites", &Params::sites, 0},
                                            {"shares", &Params::shares, 0}}};

Shape shape(std::string_view text, std::string_view value) {
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    if (kShapes[i] == value) return static_cast<Shape>(i);
  }
  refuse(text, "shape '" + std::string(value) + "' is none of chain, binomial, flat, kary, knomial");
}

Islands islands(std::string_view text, std::string_view value) {
  for (std::size_t i = 0; i < kIslands.size(); ++i) {
    if (kIslands[i] == value) return static_cast<Islands>(i);
  }
  refuse(text, "islands '" + std::string(value) + "' are none of subnets, hosts");
}

}  // namespace

std::string_view name(Islands islands) { return kIslands[static_cast<std::size_t>(islands)]; }

std::string_view name(Shape shape) { return kShapes[static_cast<std::size_t>(shape)]; }

bool Recipe::has_native_parts() const {
  return std::find(params.parts.begin(), params.parts.end(), kNativePart) != params.parts.end();
}

std::string Recipe::text() const {
  std::ostringstream out;
  out << algorithm << " segment=" << params.segment_bytes << " head=" << params.head;
  if (params.tail != 0) out << " tail=" << params.tail;
  out << " window=" << params.window << " between=" << name(params.between)
      << " inside=" << name(params.inside);
  const bool branches = params.inside == Shape::kary || params.between == Shape::kary;
  if (branches || params.degree != Params{}.degree) out << " degree=" << params.degree;
  for (const ListKey& key : kLists) {
    const std::vector<int>& list = params.*key.list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      out << (i == 0 ? " " + std::string(key.key) + "=" : ",") << list[i];
    }
  }
  if (params.leaders != 1) out << " leaders=" << params.leaders;
  if (params.islands != Params{}.islands) out << " islands=" << name(params.islands);
  for (std::size_t i = 0; i < params.parts.size(); ++i) out << (i == 0 ? " parts=" : ",") << params.parts[i];
  return out.str();
}

Recipe parse_recipe(std::string_view text) {
  std::istringstream words{std::string(text)};
  Recipe recipe;
  if (!(words >> recipe.algorithm)) refuse(text, "names no algorithm");
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) refuse(text, "'" + word + "' is not key=value");
    const std::string_view key = std::string_view(word).substr(0, equals);
    const std::string_view value = std::string_view(word).substr(equals + 1);
    Params& p = recipe.params;
    if (key == "segment") {
      p.segment_bytes = number<std::size_t>(text, key, value);
    } else if (key == "head") {
      p.head = number<int>(text, key, value);
    } else if (key == "tail") {
      p.tail = number<int>(text, key, value);
    } else if (key == "window") {
      p.window = number<int>(text, key, value);
    } else if (key == "degree") {
      p.degree = number<int>(text, key, value);
      if (p.degree < 2) refuse(text, "degree=" + std::string(value) + ": a tree of one child is a chain");
      if (p.degree > kMostDegree)
        refuse(text, "degree=" + std::string(value) + " is more than " + std::to_string(kMostDegree));
    } else if (key == "inside") {
      p.inside = shape(text, value);
    } else if (key == "between") {
      p.between = shape(text, value);
    } else if (key == "leaders") {
      p.leaders = number<int>(text, key, value);
      if (p.leaders < 1) refuse(text, "leaders=" + std::string(value) + ": somebody has to lead");
    } else if (key == "islands") {
      p.islands = islands(text, value);
    } else if (key == "parts") {
      std::string_view left = value;
      for (bool more = true; more;) {
        const std::size_t comma = left.find(',');
        p.parts.emplace_back(left.substr(0, comma));
        if (p.parts.back().empty()) refuse(text, "a part has no name");
        more = comma != std::string_view::npos;
        if (more) left = left.substr(comma + 1);
      }
    } else {
      const auto known =
          std::find_if(kLists.begin(), kLists.end(), [&](const ListKey& list) { return list.key == key; });
      if (known == kLists.end()) refuse(text, "unknown key '" + std::string(key) + "'");
      p.*known->list = numbers(text, key, value, known->least);
    }
  }
  return recipe;
}

}  // namespace eco::algo
