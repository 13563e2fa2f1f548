#include "eco/runtime/this_host.h"

#include <gtest/gtest.h>

namespace eco::runtime {
namespace {

TEST(ThisHost, IsTheSameEveryTime) {
  const net::HostId host = this_host({});
  EXPECT_FALSE(host.name.empty());
  EXPECT_FALSE(host.boot_id.empty());
  EXPECT_EQ(host, this_host({}));
}

TEST(ThisHost, HostIdStandsForBootIdAndNamespace) {
  Options options;
  options.host_id = "lab-1 h3";
  const net::HostId host = this_host(options);
  EXPECT_EQ(host.boot_id, "lab-1 h3");
  EXPECT_EQ(host.net_namespace, "");
  EXPECT_EQ(host.name, this_host({}).name);
}

}  // namespace
}  // namespace eco::runtime
