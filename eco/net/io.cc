#include "eco/net/io.h"

#include <nlohmann/json.hpp>

#include "eco/base/errors.h"
#include "eco/base/json_file.h"
#include "eco/net/fields.h"

namespace eco::net {
namespace {

using nlohmann::json;

json curve_to_json(const model::Curve& curve) {
  json bytes = json::array();
  json seconds = json::array();
  for (const model::Point& point : curve.points()) {
    bytes.push_back(point.bytes);
    seconds.push_back(point.seconds);
  }
  return {{"bytes", std::move(bytes)}, {"seconds", std::move(seconds)}};
}

model::Curve read_curve(const Fields& parameters, const char* key) {
  const json object = parameters.get<json>(key);
  const Fields fields(object, parameters.where() + ": " + key);
  const auto bytes = fields.get<std::vector<std::size_t>>("bytes");
  const auto seconds = fields.get<std::vector<double>>("seconds");
  if (bytes.size() != seconds.size() || bytes.empty()) fields.fail("has not one time for each size");
  std::vector<model::Point> points;
  for (std::size_t i = 0; i < bytes.size(); ++i) points.push_back({bytes[i], seconds[i]});
  try {
    return model::Curve(std::move(points));
  } catch (const InvalidArgument& error) {
    fields.fail(error.what());
  }
}

json plogp_to_json(const ClassPLogP& measured) {
  json object = {{"class", name(measured.pairs)},
                 {"from", measured.from},
                 {"to", measured.to},
                 {"latency_s", measured.parameters.latency_s},
                 {"os", curve_to_json(measured.parameters.send_overhead)},
                 {"or", curve_to_json(measured.parameters.receive_overhead)},
                 {"g", curve_to_json(measured.parameters.gap)}};
  if (measured.eager_limit) object["eager_limit"] = *measured.eager_limit;
  if (measured.gamma) object["gamma"] = *measured.gamma;
  object["slow_down"] = json::array();
  for (const SlowDown& slow : measured.slow_down) {
    object["slow_down"].push_back({{"pairs", slow.n_pairs}, {"factor", slow.factor}});
  }
  object["samples"] = json::array();
  for (const PLogPSamples& samples : measured.samples) {
    object["samples"].push_back(
        {{"what", samples.what}, {"bytes", samples.bytes}, {"seconds", samples.seconds}});
  }
  return object;
}

json classes_to_json(const std::vector<ClassPLogP>& classes) {
  json list = json::array();
  for (const ClassPLogP& measured : classes) list.push_back(plogp_to_json(measured));
  return list;
}

ClassPLogP read_plogp(const Fields& fields) {
  ClassPLogP measured;
  const auto word = fields.get<std::string>("class");
  const auto pairs = pair_class(word);
  if (!pairs) fields.fail("class '" + word + "' is none of host, subnet, between");
  measured.pairs = *pairs;
  measured.from = fields.get<int>("from");
  measured.to = fields.get<int>("to");
  measured.parameters = {fields.get<double>("latency_s"), read_curve(fields, "os"), read_curve(fields, "or"),
                         read_curve(fields, "g")};
  if (fields.has("eager_limit")) measured.eager_limit = fields.get<std::size_t>("eager_limit");
  if (fields.has("gamma")) measured.gamma = fields.get<double>("gamma");
  fields.each("slow_down", [&](const Fields& slow) {
    measured.slow_down.push_back({slow.get<int>("pairs"), slow.get<double>("factor")});
  });
  fields.each("samples", [&](const Fields& samples) {
    measured.samples.push_back({samples.get<std::string>("what"), samples.get<std::size_t>("bytes"),
                                samples.get<std::vector<double>>("seconds")});
  });
  return measured;
}

std::vector<ClassPLogP> read_classes(const Fields& fields, const char* key) {
  std::vector<ClassPLogP> classes;
  fields.each(key, [&](const Fields& measured) { classes.push_back(read_plogp(measured)); });
  return classes;
}

json tree_to_json(const Tree& tree) {
  json levels = json::array();
  for (const Level& level : tree.levels) {
    json object = {{"parent", level.parent},           {"hosts", level.hosts},
                   {"kind", name(level.kind)},         {"latency_s", level.latency_s},
                   {"bytes_per_s", level.bytes_per_s}, {"uplink_latency_s", level.uplink_latency_s},
                   {"half_duplex", level.half_duplex}, {"oversubscription", level.oversubscription},
                   {"confidence", level.confidence},   {"evidence", level.evidence}};
    if (level.uplink_bytes_per_s) object["uplink_bytes_per_s"] = *level.uplink_bytes_per_s;
    levels.push_back(std::move(object));
  }
  return {{"levels", std::move(levels)},
          {"verdict", tree.verdict},
          {"in_parallel", tree.in_parallel},
          {"seconds", tree.seconds}};
}

SubnetKind read_kind(const Fields& fields) {
  const auto word = fields.get<std::string>("kind");
  const auto kind = subnet_kind(word);
  if (!kind) fields.fail("kind '" + word + "' is none of lone, switched, bus, unknown");
  return *kind;
}

Tree read_tree(const Fields& fields) {
  Tree tree;
  fields.each("levels", [&](const Fields& of_level) {
    Level level;
    level.parent = of_level.get<int>("parent");
    const auto number = static_cast<int>(tree.levels.size());
    if (level.parent < (number == 0 ? -1 : 0) || level.parent >= number) {
      of_level.fail("its parent " + std::to_string(level.parent) + " is not before it");
    }
    level.hosts = of_level.get<std::vector<int>>("hosts");
    level.kind = read_kind(of_level);
    level.latency_s = of_level.get<double>("latency_s");
    level.bytes_per_s = of_level.get<double>("bytes_per_s");
    level.uplink_latency_s = of_level.get<double>("uplink_latency_s");
    if (of_level.has("uplink_bytes_per_s")) {
      level.uplink_bytes_per_s = of_level.get<double>("uplink_bytes_per_s");
    }
    level.half_duplex = of_level.get<bool>("half_duplex");
    level.oversubscription = of_level.get<double>("oversubscription");
    level.confidence = of_level.get<double>("confidence");
    level.evidence = of_level.get<std::string>("evidence");
    if (number > 0) tree.levels[static_cast<std::size_t>(level.parent)].children.push_back(number);
    tree.levels.push_back(std::move(level));
  });
  tree.verdict = fields.get<std::string>("verdict");
  tree.in_parallel = fields.get<bool>("in_parallel");
  tree.seconds = fields.get<double>("seconds");
  return tree;
}

// What describes one rail: the same fields of the document and of each object of its list of further rails.
void add_structure(json& object, const std::vector<Subnet>& subnets, const std::vector<Between>& between,
                   const std::vector<Uplink>& uplinks) {
  object["subnets"] = json::array();
  for (const Subnet& subnet : subnets) {
    object["subnets"].push_back({{"hosts", subnet.hosts},
                                 {"kind", name(subnet.kind)},
                                 {"latency_s", subnet.latency_s},
                                 {"bytes_per_s", subnet.bytes_per_s}});
  }
  object["between"] = json::array();
  for (const Between& pair : between) {
    object["between"].push_back({{"from", pair.from},
                                 {"to", pair.to},
                                 {"latency_s", pair.latency_s},
                                 {"bytes_per_s", pair.bytes_per_s}});
  }
  object["uplinks"] = json::array();
  for (const Uplink& uplink : uplinks) {
    object["uplinks"].push_back({{"subnet", uplink.subnet},
                                 {"bytes_per_s", uplink.bytes_per_s},
                                 {"shared", uplink.shared},
                                 {"half_duplex", uplink.half_duplex}});
  }
}

void read_structure(const Fields& fields, std::vector<Subnet>& subnets, std::vector<Between>& between,
                    std::vector<Uplink>& uplinks) {
  fields.each("subnets", [&](const Fields& subnet) {
    subnets.push_back({subnet.get<std::vector<int>>("hosts"), read_kind(subnet),
                       subnet.get<double>("latency_s"), subnet.get<double>("bytes_per_s")});
  });
  fields.each("between", [&](const Fields& pair) {
    between.push_back({pair.get<int>("from"), pair.get<int>("to"), pair.get<double>("latency_s"),
                       pair.get<double>("bytes_per_s")});
  });
  fields.each("uplinks", [&](const Fields& uplink) {
    uplinks.push_back({uplink.get<int>("subnet"), uplink.get<double>("bytes_per_s"),
                       uplink.get<bool>("shared"), uplink.get<bool>("half_duplex")});
  });
}

}  // namespace

std::string to_json(const Network& network) {
  json document = {{"schema", kNetworkSchema}, {"version", kNetworkVersion}};
  document["transport"] = network.transport;
  document["measured_at"] = network.measured_at;
  document["note"] = network.note;
  document["sizes"] = network.sizes;
  document["hosts"] = hosts_to_json(network.hosts);
  add_structure(document, network.subnets, network.between, network.uplinks);
  for (const Site& site : network.sites) {
    document["sites"].push_back(
        {{"subnets", site.subnets}, {"bytes_per_s", site.bytes_per_s}, {"half_duplex", site.half_duplex}});
  }
  document["overheads"] = {{"send_s", network.send_overhead_s},
                           {"receive_s", network.receive_overhead_s},
                           {"memory_latency_s", network.memory_latency_s},
                           {"memory_bytes_per_s", network.memory_bytes_per_s},
                           {"memory_pair_bytes_per_s", network.memory_pair_bytes_per_s},
                           {"memory_message_s", network.memory_message_s},
                           {"memory_wake_s", network.memory_wake_s},
                           {"combine_bytes_per_s", network.combine_bytes_per_s},
                           {"packet_bytes", network.packet_bytes},
                           {"frame_bytes", network.frame_bytes},
                           {"envelope_bytes", network.envelope_bytes},
                           {"reverse_share", network.reverse_share},
                           {"common_message_s", network.common_message_s},
                           {"common_wake_s", network.common_wake_s}};
  document["pairs"] = json::array();
  for (const PairTimes& pair : network.pairs) {
    document["pairs"].push_back(
        {{"a", pair.a}, {"b", pair.b}, {"seconds", pair.seconds}, {"samples", pair.samples}});
  }
  document["concurrent"] = json::array();
  for (const ConcurrentTest& test : network.concurrent) {
    document["concurrent"].push_back({{"what", test.what},
                                      {"pairs", test.pairs},
                                      {"bytes", test.bytes},
                                      {"alone_s", test.alone_s},
                                      {"together_s", test.together_s}});
  }
  for (const Rail& rail : network.more_rails) {
    json object = json::object();
    if (!rail.name.empty()) object["name"] = rail.name;
    add_structure(object, rail.subnets, rail.between, rail.uplinks);
    document["more_rails"].push_back(std::move(object));
  }
  if (!network.rails.empty()) document["rails"] = network.rails;
  for (const RailPair& pair : network.rail_pairs) {
    document["rail_pairs"].push_back(
        {{"a", pair.a}, {"b", pair.b}, {"bytes_per_s", pair.bytes_per_s}, {"latency_s", pair.latency_s}});
  }
  if (network.tree.is_known()) document["tree"] = tree_to_json(network.tree);
  if (!network.plogp.empty()) document["plogp"] = classes_to_json(network.plogp);
  for (const RailPLogP& of_rail : network.rail_plogp) {
    document["rail_plogp"].push_back({{"rail", of_rail.rail},
                                      {"transport", of_rail.transport},
                                      {"classes", classes_to_json(of_rail.classes)}});
  }
  return base::to_text(document);
}

Network parse_network(std::string_view text, const std::string& where) {
  const json document = base::parse_document(text, where, kNetworkSchema, kNetworkVersion);
  const Fields fields(document, where);
  Network network;
  network.transport = fields.get<std::string>("transport");
  network.measured_at = fields.get<std::string>("measured_at");
  network.note = fields.get<std::string>("note");
  network.sizes = fields.get<std::vector<std::size_t>>("sizes");
  network.hosts = read_hosts(fields);
  read_structure(fields, network.subnets, network.between, network.uplinks);
  // Only where subnets form some.
  if (fields.has("sites")) {
    fields.each("sites", [&](const Fields& site) {
      network.sites.push_back({site.get<std::vector<int>>("subnets"), site.get<double>("bytes_per_s"),
                               site.get<bool>("half_duplex")});
    });
  }
  // Only where hosts have several NICs, and in no file before they were known.
  if (fields.has("more_rails")) {
    fields.each("more_rails", [&](const Fields& of_rail) {
      Rail& rail = network.more_rails.emplace_back();
      if (of_rail.has("name")) rail.name = of_rail.get<std::string>("name");
      read_structure(of_rail, rail.subnets, rail.between, rail.uplinks);
    });
  }
  if (fields.has("rails")) network.rails = fields.get<std::vector<std::string>>("rails");
  if (fields.has("rail_pairs")) {
    fields.each("rail_pairs", [&](const Fields& pair) {
      network.rail_pairs.push_back({pair.get<int>("a"), pair.get<int>("b"),
                                    pair.get<std::vector<double>>("bytes_per_s"),
                                    pair.get<std::vector<double>>("latency_s")});
    });
  }
  const json overheads_object = fields.get<json>("overheads");
  const Fields overheads(overheads_object, where + ": overheads");
  network.send_overhead_s = overheads.get<double>("send_s");
  network.receive_overhead_s = overheads.get<double>("receive_s");
  network.memory_latency_s = overheads.get<double>("memory_latency_s");
  network.memory_bytes_per_s = overheads.get<double>("memory_bytes_per_s");
  network.combine_bytes_per_s = overheads.get<double>("combine_bytes_per_s");
  network.packet_bytes = overheads.get<double>("packet_bytes");
  // In no file before they were known.
  const auto later = [&](const char* key) { return overheads.has(key) ? overheads.get<double>(key) : 0; };
  network.frame_bytes = later("frame_bytes");
  network.envelope_bytes = later("envelope_bytes");
  network.reverse_share = later("reverse_share");
  network.memory_pair_bytes_per_s = later("memory_pair_bytes_per_s");
  network.memory_message_s = later("memory_message_s");
  network.memory_wake_s = later("memory_wake_s");
  network.common_message_s = later("common_message_s");
  network.common_wake_s = later("common_wake_s");
  fields.each("pairs", [&](const Fields& pair) {
    network.pairs.push_back({pair.get<int>("a"), pair.get<int>("b"), pair.get<std::vector<double>>("seconds"),
                             pair.get<std::vector<std::vector<double>>>("samples")});
  });
  fields.each("concurrent", [&](const Fields& test) {
    network.concurrent.push_back({test.get<std::string>("what"),
                                  test.get<std::vector<std::vector<int>>>("pairs"),
                                  test.get<std::size_t>("bytes"), test.get<std::vector<double>>("alone_s"),
                                  test.get<std::vector<double>>("together_s")});
  });
  // Only where it was looked for, and in no file before it was known.
  if (fields.has("tree")) {
    const json object = fields.get<json>("tree");
    network.tree = read_tree(Fields(object, where + ": tree"));
  }
  // Only where it was asked for, and in no file before it was known.
  if (fields.has("plogp")) network.plogp = read_classes(fields, "plogp");
  if (fields.has("rail_plogp")) {
    fields.each("rail_plogp", [&](const Fields& of_rail) {
      network.rail_plogp.push_back({of_rail.get<std::string>("rail"), of_rail.get<std::string>("transport"),
                                    read_classes(of_rail, "classes")});
    });
  }
  try {
    network.finish();
  } catch (const InvalidArgument& error) {
    fields.fail(error.what());
  }
  return network;
}

Network load_network(const std::string& path) {
  return parse_network(base::read_text(path), "network file " + path);
}

void save_network(const Network& network, const std::string& path) {
  if (const auto reason = base::write_text_atomically(path, to_json(network))) {
    throw Error("network file not written: " + *reason);
  }
}

}  // namespace eco::net
