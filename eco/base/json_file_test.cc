#include "eco/base/json_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "eco/base/errors.h"

namespace eco::base {
namespace {

// Each test is a process of its own under ctest and shares one in a plain run.
class JsonFile : public ::testing::Test {
 protected:
  JsonFile() {
    std::string name = (std::filesystem::temp_directory_path() / "eco-json-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~JsonFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

std::string refusal(const std::string& path) {
  try {
    read_text(path);
  } catch (const CorruptFile& error) {
    return error.what();
  }
  return "read";
}

TEST_F(JsonFile, IsReadAsItWasWritten) {
  const std::string text = "{\"schema\": \"x\"}\n";
  ASSERT_EQ(write_text_atomically(path("deep/file.json"), text), std::nullopt);
  EXPECT_EQ(read_text(path("deep/file.json")), text);
}

TEST_F(JsonFile, ReplacesBytesThatAreNoUtf8) {
  const nlohmann::json document = {{"schema", "x"}, {"version", 1}, {"why", "no /tmp/n\xff.json"}};
  const std::string text = to_text(document);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(parse_document(text, "text", "x", 1)["why"], "no /tmp/n\uFFFD.json");
  EXPECT_EQ(to_text(nlohmann::ordered_json("\xff"), 2), "\"\uFFFD\"\n");
}

}  // namespace
}  // namespace eco::base
