// How the files of this room are read: an object's fields, with what is wrong and where in every message.
//
//   const Fields fields(document, "network file n.json");
//   const auto bytes = fields.get<std::size_t>("bytes");        // CorruptFile: "... field 'bytes' is missing ..."
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "eco/base/errors.h"
#include "eco/net/network.h"

namespace eco::net {

// One object; as long as the document lives.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) throw CorruptFile(where_ + " is not an object");
  }

  template <class T>
  T get(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw CorruptFile(where_ + ": field '" + key + "' is missing" + kAdvice);
    try {
      return found->template get<T>();
    } catch (const nlohmann::json::exception& error) {
      throw CorruptFile(where_ + ": field '" + key + "' has the wrong type (" + error.what() + ")" + kAdvice);
    }
  }

  bool has(const char* key) const { return object_.contains(key); }

  // Calls `read(fields)` for each object of the list `key`.
  template <class Read>
  void each(const char* key, const Read& read) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail("field '" + std::string(key) + "' is missing");
    const nlohmann::json& list = *found;
    if (!list.is_array()) fail("field '" + std::string(key) + "' is not a list");
    for (std::size_t i = 0; i < list.size(); ++i) {
      read(Fields(list[i], where_ + ": " + key + "[" + std::to_string(i) + "]"));
    }
  }

  const std::string& where() const { return where_; }

  [[noreturn]] void fail(const std::string& what) const { throw CorruptFile(where_ + ": " + what + kAdvice); }

 private:
  static constexpr const char* kAdvice = "; measure again with eco characterize";
  const nlohmann::json& object_;
  std::string where_;
};

// Who the hosts are, as every file of this room has them under "hosts".
nlohmann::json hosts_to_json(const std::vector<HostId>& hosts);
std::vector<HostId> read_hosts(const Fields& fields);

}  // namespace eco::net
