// Files that ECO leaves behind: versioned JSON documents, written whole or not at all.
//
//   nlohmann::json document = parse_document(read_text(path), "network file " + path, "eco.network", 1);
//
// A reader states which schema and version it understands and gets a CorruptFile that says what is wrong and
// where. A writer never leaves half a file: the text goes to a temporary file beside the target, which is
// then renamed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace eco::base {

// Local. The whole file; throws CorruptFile if it is missing, no regular file (a pipe would be waited for, a device may
// have no end), longer than any of ECO's, or can't be read.
std::string read_text(const std::string& path);

// Local. Creates missing directories, then writes atomically; into a device, /dev/null say, as it is. Returns why it could
// not, and then nothing has changed.
[[nodiscard]] std::optional<std::string> write_text_atomically(const std::string& path, std::string_view text,
                                                               unsigned permissions = 0644);

// Local. The document as JSON, its keys "schema" and "version" checked. `where` begins every message
// ("network file n.json"). Throws CorruptFile for text that is empty, cut off, no JSON, of another schema or
// another version.
nlohmann::json parse_document(std::string_view text, const std::string& where, std::string_view schema,
                              int version);

// A document's text, ending in a newline. What comes from outside (host names, paths, reasons that quote them) may be no
// UTF-8: such bytes are replaced, not refused.
template <class Json>
std::string to_text(const Json& document, int indent = 1) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

// 64-bit FNV-1a as 16 hexadecimal digits: names for cache files, not a protection against anybody.
std::string digest(std::string_view text);

}  // namespace eco::base
