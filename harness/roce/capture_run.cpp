// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/capture_run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "harness/pcap/pcap.hpp"
#include "harness/roce/aeth.hpp"
#include "harness/roce/psn.hpp"

namespace rnic::roce {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& file, const std::string& text) {
  throw std::runtime_error(file + ": " + text);
}

// Numbers are strings there: "0x0019", "131072".
uint64_t number(const Json& j) {
  if (j.is_number()) return j.get<uint64_t>();
  return std::strtoull(j.get<std::string>().c_str(), nullptr, 0);
}

std::optional<uint64_t> field(const Json& j, const char* key) {
  if (!j.contains(key)) return std::nullopt;
  return number(j[key]);
}

MacAddr mac_of(const std::string& text, const std::string& file) {
  MacAddr m{};
  unsigned v[6];
  if (std::sscanf(text.c_str(), "%x:%x:%x:%x:%x:%x", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) !=
      6) {
    fail(file, "'" + text + "' is not a MAC address");
  }
  for (size_t i = 0; i < 6; ++i) m[i] = static_cast<uint8_t>(v[i]);
  return m;
}

// The value behind an option of a command line: option(" -m 1024 ", "-m") is "1024".
std::optional<uint64_t> option(const std::string& command, const std::string& name) {
  size_t at = 0;
  while ((at = command.find(" " + name + " ", at)) != std::string::npos) {
    const char* p = command.c_str() + at + name.size() + 2;
    char* end = nullptr;
    const unsigned long long v = std::strtoull(p, &end, 0);
    if (end != p) return v;
    ++at;
  }
  return std::nullopt;
}

// "key=value" in a log line.
std::optional<std::string> log_value(const std::string& line, const std::string& key) {
  const size_t at = line.find(" " + key + "=");
  if (at == std::string::npos) return std::nullopt;
  const size_t from = at + key.size() + 2;
  return line.substr(from, line.find(' ', from) - from);
}

SideParams params_of(const Json& list, const std::string& own, const std::string& command) {
  SideParams p;
  if (list.empty()) return p;
  const Json& j = list.front();
  p.known = true;
  p.qpn = static_cast<uint32_t>(field(j, "qpn").value_or(0));
  p.psn = static_cast<uint32_t>(field(j, "psn").value_or(0));
  if (const auto rkey = field(j, "rkey")) {
    p.has_region = p.key_recorded = true;
    p.rkey = static_cast<uint32_t>(*rkey);
    p.va = field(j, "va").value_or(field(j, "vaddr").value_or(0));
    if (const auto len = field(j, "len")) {
      p.exact = true;
      p.length = *len;
    }
  }
  p.pmtu = static_cast<uint32_t>(field(j, "mtu").value_or(option(command, "-m").value_or(1024)));
  p.timeout = static_cast<uint8_t>(field(j, "timeout").value_or(14));
  p.retry = static_cast<uint8_t>(field(j, "retry").value_or(7));
  p.rnr_retry = static_cast<uint8_t>(field(j, "rnr_retry").value_or(7));
  p.min_rnr_timer = static_cast<uint8_t>(field(j, "min_rnr_timer").value_or(12));
  const bool vt = own.rfind("vt", 0) == 0;
  p.receives = static_cast<uint32_t>(vt ? option(own + " ", "-n").value_or(16) : 512);
  if (vt) p.receive_bytes = static_cast<uint32_t>(option(own + " ", "-z").value_or(65536));
  if (const auto n = field(j, "receive_bytes")) p.receive_bytes = static_cast<uint32_t>(*n);
  return p;
}

void parse_outputs(const Json& run, CaptureRun& out) {
  for (const auto& l : run.value("server_out", Json::array())) {
    const auto line = l.get<std::string>();
    if (line.rfind("RWC ", 0) == 0) {
      RecordedReceive r;
      r.wr_id = std::strtoull(log_value(line, "wr").value_or("0").c_str(), nullptr, 0);
      r.status = std::atoi(log_value(line, "status").value_or("0").c_str());
      r.opcode = std::atoi(log_value(line, "op").value_or("0").c_str());
      r.byte_len = static_cast<uint32_t>(
          std::strtoul(log_value(line, "len").value_or("0").c_str(), nullptr, 0));
      const std::string imm = log_value(line, "imm").value_or("none");
      if (imm.rfind("none", 0) != 0)
        r.imm = static_cast<uint32_t>(std::strtoul(imm.c_str(), nullptr, 0));
      out.receives.push_back(r);
    } else if (line.rfind("BUF ", 0) == 0) {
      if (const auto v = log_value(line, "fnv64"))
        out.server_buffer_fnv = std::strtoull(v->c_str(), nullptr, 16);
      if (const auto v = log_value(line, "recvbuf_fnv64"))
        out.server_receive_fnv = std::strtoull(v->c_str(), nullptr, 16);
    }
  }
  for (const auto& l : run.value("client_out", Json::array())) {
    const auto line = l.get<std::string>();
    if (line.rfind("WC ", 0) != 0) continue;
    RecordedSend s;
    s.op = log_value(line, "op").value_or("");
    s.status = std::atoi(log_value(line, "status").value_or("0").c_str());
    if (const auto v = log_value(line, "fnv")) s.read_fnv = std::strtoull(v->c_str(), nullptr, 16);
    if (const auto v = log_value(line, "orig"))
      s.atomic_orig = std::strtoull(v->c_str(), nullptr, 0);
    out.sends.push_back(s);
  }
}

}  // namespace

std::vector<const CapturedFrame*> CaptureRun::sent_by(Side s) const {
  std::vector<const CapturedFrame*> out;
  for (const CapturedFrame& f : sent_) {
    if (f.from == s && !f.other) out.push_back(&f);
  }
  return out;
}

std::vector<const CapturedFrame*> CaptureRun::delivered(Side to) const {
  std::vector<const CapturedFrame*> out;
  for (const CapturedFrame& f : delivered_) {
    if (f.from != to && !f.other) out.push_back(&f);
  }
  return out;
}

std::vector<const CapturedFrame*> CaptureRun::arrived(Side to) const {
  std::vector<const CapturedFrame*> out;
  for (const CapturedFrame& f : delivered_) {
    if (f.from != to) out.push_back(&f);
  }
  return out;
}

CaptureRun CaptureRun::between(const SideParams& a, const SideParams& b) const {
  CaptureRun out = *this;
  out.client = a;
  out.server = b;
  out.transport = Transport::kOther;
  out.has_requests_ = false;
  out.only_writes_ = true;
  for (size_t s = 0; s < 2; ++s) {
    out.requests_[s] = false;
    out.low_[s] = ~uint64_t{0};
    out.high_[s] = 0;
    out.last_rnr_[s].reset();
  }
  FrameView v;
  const auto foreign = [&](CapturedFrame& f) {
    f.other = false;
    return parse_frame(f.bytes, v) != ParseStatus::kOk ||
           v.dest_qp != (f.from == Side::kClient ? b : a).qpn;
  };
  std::erase_if(out.sent_, foreign);
  std::erase_if(out.delivered_, foreign);
  for (const CapturedFrame& f : out.sent_) {
    if (parse_frame(f.bytes, v) == ParseStatus::kOk) out.learn(f, v);
  }
  out.finish();
  return out;
}

void CaptureRun::learn(const CapturedFrame& f, const FrameView& v) {
  if (v.dest_qp <= 1) return;  // QP 1 is connection management
  const auto from = static_cast<size_t>(f.from);
  const OpcodeInfo& info = v.info();
  SideParams& sender = f.from == Side::kClient ? client : server;
  SideParams& target = f.from == Side::kClient ? server : client;
  sender.ip = v.ip_src;
  sender.udp_port = v.udp_src;
  target.ip = v.ip_dst;
  if ((info.ext & kExtAeth) && aeth_kind(v.syndrome) == AethKind::kRnrNak)
    last_rnr_[from] = f.index;
  if (!info.is_request) return;
  if (transport == Transport::kOther) transport = info.transport;
  has_requests_ = true;
  requests_[from] = true;
  // FIRST and MIDDLE report the plain kind, so an immediate shows at the last packet.
  if (info.kind != MsgKind::kWrite && info.kind != MsgKind::kWriteImm) only_writes_ = false;
  if (!(info.ext & (kExtReth | kExtAtomic))) return;
  if (!target.has_region) {  // not recorded: the first key used is the right one
    target.has_region = true;
    target.rkey = v.rkey;
  } else if (!target.key_recorded && v.rkey != target.rkey &&
             std::ranges::count(target.other_rkeys, v.rkey) == 0) {
    target.other_rkeys.push_back(v.rkey);
  }
  const uint64_t length = (info.ext & kExtReth) ? v.dma_len : 8;
  low_[1 - from] = std::min(low_[1 - from], v.va);
  high_[1 - from] = std::max(high_[1 - from], v.va + length);
}

void CaptureRun::finish() {
  for (size_t s = 0; s < 2; ++s) {
    SideParams& p = s == 0 ? client : server;
    if (last_rnr_[s]) p.receives_posted_before = *last_rnr_[s] + 1;
    // perftest 25 names a key for SENDs too: a region that nobody used has no length.
    if (!p.exact && high_[s] == 0) p.has_region = false;
    if (p.has_region && !p.exact) {
      constexpr uint64_t kPage = 4096;
      p.va = low_[s] / kPage * kPage;
      p.length = (high_[s] + kPage - 1) / kPage * kPage - p.va;
    }
  }
}

std::vector<HostWrite> CaptureRun::host_writes(Side s) const {
  std::vector<HostWrite> out;
  const SideParams& p = side(s);
  if (from_vt || !contents_known() || !p.has_region) return out;
  FrameView v;
  std::map<uint32_t, std::vector<uint8_t>> answers;  // by PSN; the first, repeats say the same
  for (const CapturedFrame* f : sent_by(s)) {
    if (parse_frame(f->bytes, v) != ParseStatus::kOk || v.info().is_request) continue;
    std::vector<uint8_t> bytes(v.payload().begin(), v.payload().end());
    if (v.opcode == kRcAtomicAck) {
      bytes.resize(8);
      for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(v.atomic_orig >> (8 * i));
    }
    if (!bytes.empty()) answers.emplace(v.psn, std::move(bytes));
  }
  std::set<uint64_t> counters;
  for (const CapturedFrame* f : delivered(s)) {
    if (parse_frame(f->bytes, v) != ParseStatus::kOk || v.va < p.va) continue;
    HostWrite w{f->index, v.va - p.va, {}};
    if (v.opcode == kRcReadRequest) {
      for (uint32_t i = 0; w.bytes.size() < v.dma_len; ++i) {
        const auto part = answers.find(psn_add(v.psn, i));
        if (part == answers.end()) break;
        w.bytes.insert(w.bytes.end(), part->second.begin(), part->second.end());
      }
    } else if ((v.info().ext & kExtAtomic) != 0 && counters.insert(v.va).second) {
      if (const auto a = answers.find(v.psn); a != answers.end()) w.bytes = a->second;
    }
    if (!w.bytes.empty() && w.offset + w.bytes.size() <= p.length) out.push_back(std::move(w));
  }
  return out;
}

bool CaptureRun::repeats(Side s) const {
  std::optional<uint32_t> last;
  FrameView v;
  for (const CapturedFrame* f : delivered(other(s))) {
    if (parse_frame(f->bytes, v) != ParseStatus::kOk || !v.info().is_request) continue;
    if (last && psn_diff(v.psn, *last) <= 0) return true;
    last = v.psn;
  }
  return false;
}

std::vector<uint8_t> CaptureRun::initial_memory(Side s) const {
  const SideParams& p = side(s);
  std::vector<uint8_t> m(p.length, 0);
  if (p.exact && from_vt) {
    for (size_t i = 0; i < m.size(); ++i) m[i] = vt_pattern(i, s);
  }
  return m;
}

CaptureFile CaptureFile::load(const std::string& json_path) {
  std::ifstream in(json_path);
  if (!in) fail(json_path, "cannot open");
  Json j;
  try {
    j = Json::parse(in);
  } catch (const Json::exception& e) {
    fail(json_path, e.what());
  }
  CaptureFile out;
  try {
    out.title_ = j.value("title", "");
    const std::string pcap_name = j.at("file");
    const auto pcap_path = std::filesystem::path(json_path).parent_path() / pcap_name;
    pcap::PcapReader reader(pcap_path.string());
    std::vector<CapturedFrame> all;
    const MacAddr mac_a = mac_of(j.at("A").at("mac"), json_path);
    const MacAddr mac_b = mac_of(j.at("B").at("mac"), json_path);
    pcap::PcapPacket packet;
    while (reader.next(packet)) {
      if (packet.original_length != packet.bytes.size())
        fail(json_path, "packet " + std::to_string(packet.number) + " is cut");
      CapturedFrame f;
      f.index = static_cast<uint32_t>(packet.number - 1);
      f.time_ns = packet.time_ns;
      f.bytes.assign(packet.bytes.begin(), packet.bytes.end());
      f.from = f.bytes.size() >= 12 && std::equal(mac_a.begin(), mac_a.end(), f.bytes.begin() + 6)
                   ? Side::kClient
                   : Side::kServer;
      all.push_back(std::move(f));
    }

    // What the wire did with a frame, by its index.
    std::map<uint32_t, std::string> events;
    for (const auto& e : j.value("wire_events", Json::array())) {
      const auto index = e.at("pcap_index").get<uint32_t>();
      const auto action = e.at("action").get<std::string>();
      if (action != "drop" && action != "dup" && action != "hold" && action != "replace") {
        fail(json_path, "wire event '" + action + "' is unknown");
      }
      if (index >= all.size())
        fail(json_path,
             "wire event at packet " + std::to_string(index) + " of " + std::to_string(all.size()));
      // The file names the sender too; it must agree with the MAC address.
      const bool from_a = e.at("from").get<std::string>() == "a";
      if (from_a != (all[index].from == Side::kClient))
        fail(json_path, "wire event at packet " + std::to_string(index) + " names the other side");
      events[index] = action;
    }
    const bool netem = out.title_.find("netem") != std::string::npos;

    uint32_t run_number = 0;
    for (const auto& r : j.at("runs")) {
      CaptureRun run;
      run.file = pcap_name;
      run.number = run_number++;
      run.title = out.title_;
      run.client_command = r.value("client_A", "");
      run.server_command = r.value("server_B", "");
      run.from_vt = run.client_command.rfind("vt ", 0) == 0;
      run.lossy_before_capture = netem;
      run.wire_times = j.value("times", "") == "wire";
      const Json none = Json::array();
      const Json params = r.value("params", Json::object());
      run.client =
          params_of(params.value("A_client", none), run.client_command, run.client_command);
      run.server =
          params_of(params.value("B_server", none), run.server_command, run.client_command);
      run.client.mac = mac_a;
      run.server.mac = mac_b;
      parse_outputs(r, run);

      const auto range = r.at("frames");
      const auto first = range.at(0).get<uint32_t>(), last = range.at(1).get<uint32_t>();
      if (last >= all.size() || first > last)
        fail(json_path, "run " + std::to_string(run.number) + ": frames beyond the file");
      // Frames of other QPs, which this run's could do without, are set apart: a connection
      // manager's, a tool's own.
      const bool only_qps = r.value("only_qps", false);
      std::vector<std::optional<CapturedFrame>> held(2);
      const auto deliver = [&](CapturedFrame f) {
        FrameView v;
        if (parse_frame(f.bytes, v) == ParseStatus::kNotRoce) return;
        run.delivered_.push_back(std::move(f));
      };
      for (uint32_t i = first; i <= last; ++i) {
        CapturedFrame f = all[i];
        const auto dir = static_cast<size_t>(f.from);
        FrameView v;
        if (parse_frame(f.bytes, v) == ParseStatus::kOk) {
          f.other =
              only_qps && v.dest_qp != (f.from == Side::kClient ? run.server : run.client).qpn;
          if (!f.other) run.learn(f, v);
          run.sent_.push_back(f);
        }
        const auto event = events.find(i);
        const std::string action = event == events.end() ? "" : event->second;
        if (action == "hold") {
          held[dir] = f;
          continue;
        }
        if (action == "replace") {
          CapturedFrame bad = f;
          bad.corrupted = true;
          bad.bytes.back() ^= 1;
          deliver(std::move(bad));
        } else if (action != "drop") {
          deliver(f);
          if (action == "dup") deliver(f);
        }
        if (held[dir]) {
          deliver(std::move(*held[dir]));
          held[dir].reset();
        }
      }
      for (auto& h : held) {
        if (h) deliver(std::move(*h));
      }
      run.finish();
      out.runs_.push_back(std::move(run));
    }
  } catch (const Json::exception& e) {
    fail(json_path, e.what());
  }
  return out;
}

std::vector<std::string> list_captures(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    if (e.path().extension() == ".json") out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

uint64_t capture_fnv64(std::span<const uint8_t> bytes) {
  uint64_t h = 1469598103934665603ull;
  for (uint8_t b : bytes) h = (h ^ b) * 1099511628211ull;
  return h;
}

}  // namespace rnic::roce
