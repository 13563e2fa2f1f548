#include "preload/fuzz/program.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace eco::fuzz {

int Step::number(const std::string& name, int otherwise) const {
  const auto found = words.find(name);
  return found == words.end() ? otherwise : std::atoi(found->second.c_str());
}

std::string Step::word(const std::string& name, const std::string& otherwise) const {
  const auto found = words.find(name);
  return found == words.end() ? otherwise : found->second;
}

std::vector<int> Step::numbers(const std::string& name) const {
  std::vector<int> all;
  std::istringstream text(word(name));
  for (std::string one; std::getline(text, one, ',');) all.push_back(std::atoi(one.c_str()));
  return all;
}

std::vector<Step> read_program(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Step> steps;
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    Step step;
    step.text = line;
    if (!(text >> step.id >> step.verb) || step.id < 0)
      throw std::runtime_error(path + ": '" + line + "' is no step");
    for (std::string word; text >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos)
        throw std::runtime_error(path + ": '" + word + "' in '" + line + "' has no value");
      step.words[word.substr(0, equals)] = word.substr(equals + 1);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15 + b * 0xd1b54a32d192ed03 + c * 0x8cb92ba72f3d8dd7 + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace eco::fuzz
