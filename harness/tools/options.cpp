// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <sstream>

#include "harness/tools/numbers.hpp"
#include "harness/tools/rping.hpp"

namespace rnic::tools {
namespace {

struct Tool {
  const char* name;
  Kind kind;
  Verb verb;
  Service service;
};
constexpr Tool kTools[] = {
    {"ibv_rc_pingpong", Kind::kPingpong, Verb::kSend, Service::kRc},
    {"ibv_uc_pingpong", Kind::kPingpong, Verb::kSend, Service::kUc},
    {"ibv_ud_pingpong", Kind::kPingpong, Verb::kSend, Service::kUd},
    {"ib_write_bw", Kind::kBandwidth, Verb::kWrite, Service::kRc},
    {"ib_write_lat", Kind::kLatency, Verb::kWrite, Service::kRc},
    {"ib_read_bw", Kind::kBandwidth, Verb::kRead, Service::kRc},
    {"ib_read_lat", Kind::kLatency, Verb::kRead, Service::kRc},
    {"ib_send_bw", Kind::kBandwidth, Verb::kSend, Service::kRc},
    {"ib_send_lat", Kind::kLatency, Verb::kSend, Service::kRc},
    {"ib_atomic_bw", Kind::kBandwidth, Verb::kAtomic, Service::kRc},
    {"ib_atomic_lat", Kind::kLatency, Verb::kAtomic, Service::kRc},
    {"rping", Kind::kRping, Verb::kSend, Service::kRc},
};

constexpr uint32_t kMaxSize = 1u << 23;
constexpr uint32_t kMaxQps = 62;  // of 64 completion queues
constexpr uint32_t kAtomicBytes = 8;
constexpr uint32_t kPingpongDepth = 500;
constexpr uint16_t kRpingPort = 7174;
constexpr uint32_t kRpingSize = 64;

// What a tool of these does when nothing is said.
void set_defaults(Options& o) {
  switch (o.kind) {
    case Kind::kPingpong:
      o.count = 1000;
      o.size = o.service == Service::kUd ? 1024 : 4096;
      o.mtu = 1024;
      o.rx_depth = kPingpongDepth;
      break;
    case Kind::kBandwidth:
      o.count = o.verb == Verb::kWrite ? 5000 : 1000;
      o.size = o.verb == Verb::kAtomic ? kAtomicBytes : 65'536;
      o.cq_mod = 100;
      break;
    case Kind::kLatency:
      o.count = 1000;
      o.size = o.verb == Verb::kAtomic ? kAtomicBytes : 2;
      o.tx_depth = 1;
      break;
    case Kind::kRping:
      o.port = kRpingPort;
      o.count = 0;  // until the client ends
      o.size = kRpingSize;
      o.out_reads = 1;
      o.cm = true;
      break;
  }
}

// Where values land that have no effect here.
struct Ignored {
  std::string text;
  bool flag = false;
  int number = 0;
};

void add_pingpong(CLI::App& app, Options& o, Ignored& x) {
  app.add_option("-p,--port", o.port)->check(CLI::Range(1, 65535));
  app.add_option("-s,--size", o.size)->check(CLI::Range(1u, kMaxSize));
  if (o.service != Service::kUd) app.add_option("-m,--mtu", o.mtu);
  app.add_option("-r,--rx-depth", o.rx_depth)->check(CLI::Range(1, 16384));
  app.add_option("-n,--iters", o.count)->check(CLI::Range(1, 100'000'000));
  app.add_option("-g,--gid-idx", o.gid)->check(CLI::Range(0, 2));
  app.add_option("-d,--ib-dev", x.text);
  app.add_option("-i,--ib-port", x.number);
  app.add_option("-l,--sl", x.number);
  app.add_flag("-e,--events", x.flag);
  app.add_flag("-c,--chk", x.flag);
}

void add_perftest(CLI::App& app, Options& o, Ignored& x, std::string& connection,
                  std::string& atomic) {
  app.add_option("-p,--port", o.port)->check(CLI::Range(1, 65535));
  app.add_option("-n,--iters", o.count)->check(CLI::Range(5, 100'000'000));
  if (o.verb != Verb::kAtomic) {
    app.add_option("-s,--size", o.size)->check(CLI::Range(1u, kMaxSize));
    app.add_flag("-a,--all", o.all);
    app.add_option("-c,--connection", connection)->check(CLI::IsMember({"RC", "UC", "UD"}));
  } else {
    app.add_option("-A,--atomic_type", atomic)
        ->check(CLI::IsMember({"FETCH_AND_ADD", "CMP_AND_SWAP"}));
  }
  if (o.verb == Verb::kRead || o.verb == Verb::kAtomic)
    app.add_option("-o,--outs", o.out_reads)->check(CLI::Range(1, 16));
  if (o.verb == Verb::kWrite || o.verb == Verb::kSend)
    app.add_option("-I,--inline_size", o.inline_size)->check(CLI::Range(0, 928));
  if (o.verb == Verb::kSend)
    app.add_option("-r,--rx-depth", o.rx_depth)->check(CLI::Range(1, 16384));
  if (o.kind == Kind::kBandwidth) {
    app.add_option("-q,--qp", o.qps)->check(CLI::Range(1u, kMaxQps));
    app.add_option("-t,--tx-depth", o.tx_depth)->check(CLI::Range(1, 8192));
    app.add_flag("-b,--bidirectional", o.bidirectional);
    app.add_option("-Q,--cq-mod", o.cq_mod)->check(CLI::Range(1, 1024));
    app.add_flag("-N,--noPeak", x.flag);
    app.add_option("-l,--post_list", x.number);
    app.add_flag("--report_gbits", o.gbits);
  } else {
    app.add_flag("-C,--report-cycles,-H,--report-histogram,-U,--report-unsorted", x.flag);
  }
  app.add_option("-m,--mtu", o.mtu);
  app.add_option("-x,--gid-index", o.gid)->check(CLI::Range(0, 2));
  app.add_option("-D,--duration", o.duration_s)->check(seconds(3600));
  app.add_option("-f,--margin", x.number);
  app.add_option("-u,--qp-timeout", o.timeout)->check(CLI::Range(0, 31));
  app.add_option("-d,--ib-dev", x.text);
  app.add_option("-i,--ib-port", x.number);
  app.add_option("-S,--sl", x.number);
  app.add_option("-T,--tos", x.number);
  app.add_flag("-F,--CPU-freq,-e,--events", x.flag);
  app.add_flag("--dont_xchg_versions", x.flag);
  app.add_flag("--ipv6-addr", x.flag);
  app.add_flag("-R,--rdma_cm", o.cm);
}

// What perftest does itself: no deeper than there are messages, no rarer than the queue is deep.
void take_perftest(Options& o, const CLI::App& app, const std::string& atomic) {
  o.exchange_versions = app.count("--dont_xchg_versions") == 0;
  o.compare_swap = atomic == "CMP_AND_SWAP";
  if (o.kind != Kind::kBandwidth) return;
  if (o.duration_s == 0)
    o.tx_depth = static_cast<uint32_t>(std::min<uint64_t>(o.tx_depth, o.count));
  o.cq_mod = std::min(o.cq_mod, o.tx_depth);
}

// What rping says in another way than the other tools.
struct RpingWords {
  bool server = false, client = false;
  std::string address;
};

void add_rping(CLI::App& app, Options& o, Ignored& x, RpingWords& words) {
  app.add_flag("-s", words.server);
  app.add_flag("-c", words.client);
  app.add_option("-a", words.address);
  app.add_option("-p", o.port)->check(CLI::Range(1, 65535));
  app.add_option("-C", o.count)->check(CLI::Range(1, 100'000'000));
  app.add_option("-S", o.size)->check(CLI::Range(kRpingMinBytes, kRpingMaxBytes));
  app.add_flag("-v", o.print_data);
  app.add_flag("-V,-d,-q", x.flag);
}

void take_rping(Options& o, const RpingWords& words) {
  const auto bad = [&](const char* why) { return ToolError(o.command + ": " + why); };
  if (words.server == words.client) throw bad("one of -s and -c");
  if (words.server) return;
  if (words.address.empty()) throw bad("a client needs -a ADDRESS");
  if (o.count == 0) throw bad("a client needs -C COUNT");
  o.host = words.address;
}

void check(Options& o, const std::string& connection) {
  const auto bad = [&](const std::string& why) { return ToolError(o.command + ": " + why); };
  if (o.mtu != 0) {
    try {
      (void)mtu_code(o.mtu);
    } catch (const ToolError& e) {
      throw bad(e.what());
    }
  }
  if (!connection.empty())
    o.service = connection == "UC"   ? Service::kUc
                : connection == "UD" ? Service::kUd
                                     : Service::kRc;
  if (o.service != Service::kRc && (o.verb == Verb::kRead || o.verb == Verb::kAtomic))
    throw bad("READ and ATOMIC need RC");
  if (o.service == Service::kUd && o.verb == Verb::kWrite) throw bad("WRITE needs RC or UC");
  if (o.bidirectional) throw bad("-b is not supported");
  if (o.cm && o.service == Service::kUc) throw bad("-R needs RC or UD");
  if (o.service == Service::kUd && !o.all && o.mtu != 0 && o.size > o.mtu)
    throw bad("a UD message has at most the bytes of the MTU");
  if (o.duration_s > 0 && o.all) throw bad("-D and -a exclude each other");
  // There each message waits for the other side's, which does not know when our time is over.
  const bool by_turns =
      o.kind == Kind::kLatency && (o.verb == Verb::kWrite || o.verb == Verb::kSend);
  if (o.duration_s > 0 && by_turns) throw bad("-D is for READ and ATOMIC, and for bandwidth");
}

}  // namespace

const char* to_string(Service s) {
  return s == Service::kRc ? "RC" : s == Service::kUc ? "UC" : "UD";
}

std::vector<std::string> known_tools() {
  std::vector<std::string> names;
  for (const Tool& t : kTools) names.emplace_back(t.name);
  return names;
}

uint8_t mtu_code(uint32_t bytes) {
  for (uint8_t code = 1; code <= 5; ++code) {
    if (mtu_bytes(code) == bytes) return code;
  }
  throw ToolError("an MTU is 256, 512, 1024, 2048 or 4096");
}

uint32_t mtu_bytes(uint8_t code) {
  if (code < 1 || code > 5) throw ToolError("an MTU has a code of 1 to 5");
  return 128u << code;
}

std::vector<uint32_t> Options::sizes() const {
  if (!all) return {size};
  std::vector<uint32_t> list;
  const uint32_t last = service == Service::kUd ? (mtu == 0 ? 1024 : mtu) : kMaxSize;
  for (uint32_t s = 2; s <= last; s *= 2) list.push_back(s);
  return list;
}

Options parse_command(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string w; in >> w;) words.push_back(w);
  if (words.empty()) throw ToolError("an empty command line");
  Options o;
  for (const std::string& w : words) o.command += (o.command.empty() ? "" : " ") + w;
  o.tool = words[0];
  const Tool* tool = std::find_if(std::begin(kTools), std::end(kTools),
                                  [&](const Tool& t) { return o.tool == t.name; });
  if (tool == std::end(kTools)) {
    std::string names;
    for (const std::string& n : known_tools()) names += (names.empty() ? "" : ", ") + n;
    throw ToolError("'" + o.tool + "' is none of " + names);
  }
  o.kind = tool->kind;
  o.verb = tool->verb;
  o.service = tool->service;
  set_defaults(o);

  CLI::App app("", o.tool);
  app.set_help_flag("");
  Ignored x;
  std::string connection, atomic = "FETCH_AND_ADD";
  RpingWords rping;
  if (o.kind == Kind::kPingpong) {
    add_pingpong(app, o, x);
  } else if (o.kind == Kind::kRping) {
    add_rping(app, o, x, rping);
  } else {
    add_perftest(app, o, x, connection, atomic);
  }
  if (o.kind != Kind::kRping) app.add_option("host", o.host);
  std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& e) {
    throw ToolError(o.command + ": " + e.what());
  }
  if (o.kind == Kind::kRping) {
    take_rping(o, rping);
  } else if (o.kind != Kind::kPingpong) {
    take_perftest(o, app, atomic);
  }
  if (o.kind != Kind::kRping && o.verb != Verb::kAtomic) o.size_given = app.count("--size") != 0;
  check(o, connection);
  return o;
}

}  // namespace rnic::tools
