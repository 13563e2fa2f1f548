#include "eco/base/json_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
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

// Without the refusal the first two never end.
TEST_F(JsonFile, IsNoPipeNoDeviceAndNoFolder) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(path("pipe")), path("pipe") + " is no regular file");
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero is no regular file");
  EXPECT_EQ(refusal(folder_.string()), folder_.string() + " is no regular file");
  ASSERT_EQ(::symlink("/dev/zero", path("link").c_str()), 0);
  EXPECT_EQ(refusal(path("link")), path("link") + " is no regular file");
  EXPECT_NE(refusal(path("absent")).find("No such file"), std::string::npos);
}

// Root may rename over all of them.
TEST_F(JsonFile, TakesNoDevicesOrPipesPlace) {
  const auto mode = [](const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
  };
  EXPECT_EQ(::symlink("/dev/null", path("null").c_str()), 0);
  EXPECT_EQ(write_text_atomically(path("null"), "{}"), std::nullopt);
  EXPECT_TRUE(std::filesystem::is_symlink(path("null")));
  EXPECT_EQ(::symlink("/dev/full", path("full").c_str()), 0);
  EXPECT_NE(write_text_atomically(path("full"), "{}").value_or("").find("No space left"), std::string::npos);
  EXPECT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(write_text_atomically(path("pipe"), "{}"), "cannot write " + path("pipe") + ": no regular file");
  EXPECT_EQ(mode(path("pipe")), static_cast<mode_t>(S_IFIFO));
  EXPECT_NE(write_text_atomically(folder_.string(), "{}"), std::nullopt);
}

TEST_F(JsonFile, HasALengthThatMemoryHas) {
  std::ofstream(path("long")) << "{";
  std::filesystem::resize_file(path("long"), std::uintmax_t{1} << 40);  // all hole
  EXPECT_NE(refusal(path("long")).find("is longer than 1073741824 bytes"), std::string::npos);
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
