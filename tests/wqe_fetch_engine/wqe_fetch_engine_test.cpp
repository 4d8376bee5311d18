// SPDX-License-Identifier: Apache-2.0
#include <Vfetch1024.h>
#include <Vfetch128.h>
#include <Vfetch256.h>
#include <Vfetch512.h>

#include <deque>
#include <map>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

struct Job {
  uint64_t qpn = 0;
  uint16_t index = 0;
  unsigned blocks = 0;
  uint16_t avail = 0;
  uint64_t serial = 0;
  bool operator==(const Job&) const = default;
};
struct Done {
  uint64_t qpn = 0;
  bool last = false;
  uint16_t next = 0;
  unsigned pushed = 0;
  bool operator==(const Done&) const = default;
};
struct Want {
  uint16_t index = 0, next = 0;
  unsigned blocks = 1;
  bool bad = false, has2 = false;
  uint64_t status = 0;
  std::vector<uint8_t> bytes;  // what must be in the entry
};

// The ring of a QP and what its blocks mean, from the descriptor's byte offsets.
struct Ring {
  unsigned log_sq = 4;
  uint64_t base = 0;
  bool exists = true;
  std::vector<uint8_t> bytes;

  explicit Ring(unsigned log = 4, uint64_t at = 0)
      : log_sq(log), base(at), bytes(size_t{64} << log, 0) {}
  void put(uint16_t index, const std::vector<uint8_t>& image) {
    for (size_t i = 0; i < image.size(); ++i) bytes[(index * 64ull + i) % bytes.size()] = image[i];
  }
  std::vector<uint8_t> get(uint16_t index, size_t blocks) const {
    std::vector<uint8_t> out(64 * blocks);
    for (size_t i = 0; i < out.size(); ++i) out[i] = bytes[(index * 64ull + i) % bytes.size()];
    return out;
  }
};

// What must come out of a job; lost: the blocks of the job that a failed read did not deliver.
std::pair<std::vector<Want>, uint16_t> decode(const Ring& ring, const Job& job,
                                              const std::set<unsigned>& lost, uint64_t status) {
  std::vector<Want> out;
  const uint16_t mask = static_cast<uint16_t>((1u << ring.log_sq) - 1);
  unsigned k = 0;
  while (k < job.blocks) {
    Want w;
    w.index = static_cast<uint16_t>(job.index + k);
    if (lost.count(k)) {
      w.bad = true;
      w.status = status;
      w.next = static_cast<uint16_t>(w.index + 1);
      out.push_back(w);
      return {out, w.next};
    }
    const auto head = ring.get(w.index, 1);
    const unsigned flags = head[9];
    const unsigned inline_len = head[10] | (head[11] & 0xFu) << 8;
    const unsigned segs = head[11] >> 4;
    const bool inlined = flags & 8, long_form = flags & 16;
    const bool index_ok = (head[12] | head[13] << 8) == w.index;
    uint64_t next = 0;
    for (int i = 7; i >= 0; --i) next = next << 8 | head[i];
    w.blocks = long_form ? 2 : 1;
    if (inlined) w.blocks = std::max(w.blocks, (32 + inline_len + 63) / 64);
    if (!index_ok) {
      w.bad = true;
      w.status = kLocQpOp;
      w.blocks = 1;
    } else if (inlined && inline_len > 4064) {
      w.bad = true;
      w.status = kLocLen;
    } else if ((next & 2) || (!inlined && segs > (long_form ? 6u : 2u))) {
      w.bad = true;
      w.status = kLocQpOp;
    }
    w.has2 = w.blocks > 1;
    if (w.blocks > 1 && (k + 1 == job.blocks || k + w.blocks > job.avail)) return {out, w.index};
    w.next = static_cast<uint16_t>(w.index + w.blocks);
    w.bytes = ring.get(w.index, w.has2 ? 2 : 1);
    if (w.has2 && lost.count(k + 1)) {
      w.bad = true;
      w.status = status;
      w.bytes.clear();
      out.push_back(w);
      return {out, w.next};
    }
    bool link = false;
    if ((next & 1) && !w.bad) {
      link = true;
      const uint64_t target = next & ~63ull;
      if (target >= ring.base && target < ring.base + ring.bytes.size()) {
        const uint16_t block = static_cast<uint16_t>((target - ring.base) / 64);
        w.next = static_cast<uint16_t>(w.next + ((block - w.next) & mask));
      } else {
        w.bad = true;
        w.status = kLocQpOp;
      }
    }
    out.push_back(w);
    if (link) return {out, w.next};
    k += w.blocks;
  }
  return {out, static_cast<uint16_t>(job.index + k)};
}

template <class Model>
class World {
 public:
  World(unsigned data_w, Stall stall = {})
      : b_(data_w / 8),
        top(bench.top()),
        jobs(bench, "wqe_req", top.wqe_req_valid, top.wqe_req_ready,
             [this](const Job& j) {
               top.wqe_req_qpn = j.qpn;
               top.wqe_req_index = j.index;
               top.wqe_req_blocks = j.blocks;
               top.wqe_req_avail = j.avail;
             }),
        wqes(
            bench, "wqe", top.wqe_valid, top.wqe_ready,
            [this] { return read_pin(top.wqe).slice(0, kEntry.width()); }, stall),
        dones(
            bench, "fetch_done", top.fetch_done_valid, top.fetch_done_ready,
            [this] {
              return Done{top.fetch_done_qpn, top.fetch_done_last != 0, top.fetch_done_next,
                          top.fetch_done_pushed};
            },
            stall),
        rd_stall_(stall),
        rsp_stall_(stall) {
    rd_stall_.seed(rng("rd"));
    rsp_stall_.seed(rng("rsp"));
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
    wqes.on_item([this](const Bits&) { wqe_order.push_back(dones.size()); });
  }

  // Gives a job and checks all that comes of it, with other jobs in flight.
  void give(Job job) {
    job.serial = ++serial_;
    jobs.push(job);
    open[job.qpn] = job;
    if (rings.at(job.qpn).exists) unread_[job.serial] = 64 * job.blocks;
  }
  void drain(uint64_t limit = 20000) {
    bench.wait(
        "all jobs to be over", [this] { return open.empty(); }, limit);
    bench.wait(
        "all data to come", [this] { return tlps_.empty() && unread_.empty(); }, limit);
    bench.tick(5);
  }

  unsigned b_;
  Bench<Model> bench;
  Model& top;
  StreamSource<Job> jobs;
  StreamSink<Bits> wqes;
  StreamSink<Done> dones;
  std::map<uint64_t, Ring> rings;
  std::map<uint64_t, Job> open;
  unsigned low = 4, high = 40, max_tlp = 128, lk_late = 0;
  double fail = 0;
  bool in_order = false;
  std::vector<size_t> wqe_order;
  std::vector<uint64_t> rd_cycles, rsp_cycles;
  uint64_t checked = 0, bad = 0;

 private:
  struct Tlp {
    uint64_t due, qpn, slot, serial, number, addr, dst, left;
    bool fails;
  };
  void sample() {
    if (bench.in_reset()) return;
    const uint64_t now = bench.cycle();
    if (top.wf_lk_valid && top.wf_lk_ready)
      ctx_.push_back({now + (lk_late ? random_.below(lk_late) : 0), top.wf_lk_qpn});
    if (top.rdreq_valid && top.rdreq_ready) {
      rd_cycles.push_back(now);
      const Bits r = read_pin(top.rdreq);
      const uint64_t qpn = kRdReq.get(r, "qpn");
      const Ring& ring = rings.at(qpn);
      uint64_t addr = kRdReq.get(r, "addr"), left = kRdReq.get(r, "len"),
               dst = kRdReq.get(r, "dst_off");
      const uint64_t slot = kRdReq.get(r, "slot");
      REQUIRE(addr >= ring.base);
      REQUIRE(addr + left <= ring.base + ring.bytes.size());
      if (kRdReq.get(r, "first")) {
        CHECK(dst == 0);
        numbers_[slot] = 0;
        asked_[slot] = 0;
        REQUIRE(open.count(qpn) == 1);
        of_slot_[slot] = open[qpn].serial;
      }
      const uint64_t serial = of_slot_[slot];
      CHECK(dst == asked_[slot]);
      asked_[slot] += left;
      unread_[serial] -= left;
      if (unread_[serial] == 0) unread_.erase(serial);
      while (left > 0) {
        const uint64_t n = std::min<uint64_t>(left, max_tlp - addr % max_tlp);
        tlps_.push_back({now + random_.between(low, high), qpn, slot, serial, numbers_[slot]++,
                         addr, dst, n, random_.chance(fail)});
        addr += n;
        dst += n;
        left -= n;
      }
    }
    // dones come after the WQEs they speak of: compare when a job is over.
    for (; seen_done_ < dones.size(); ++seen_done_) {
      const Done& d = dones[seen_done_];
      REQUIRE(open.count(d.qpn) == 1);
      if (!d.last) {
        CHECK(!woken_.count(d.qpn));
        woken_.insert(d.qpn);
        CHECK(per_qp(d.qpn) >= 1);
        continue;
      }
      const Job job = open[d.qpn];
      INFO("cycle " << now << " QP " << d.qpn << " index " << job.index << " blocks " << job.blocks
                    << " avail " << job.avail);
      auto [want, next] = decode(rings.at(d.qpn), job, lost_[job.serial], 0x23);
      if (!rings.at(d.qpn).exists) {
        want.clear();
        next = job.index;
      }
      CHECK(d.next == next);
      CHECK(d.pushed == want.size());
      CHECK(woken_.count(d.qpn) == (want.size() > 1 ? 1 : woken_.count(d.qpn)));
      std::vector<Bits> got;
      for (size_t i = from_[d.qpn]; i < wqes.size(); ++i) {
        if (kEntry.get(wqes[i], "qpn") == d.qpn) got.push_back(wqes[i]);
      }
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const Bits& g = got[i];
        const Want& w = want[i];
        INFO("WQE at " << w.index);
        CHECK(kEntry.get(g, "index") == w.index);
        CHECK(kEntry.get(g, "blocks") == w.blocks);
        CHECK(kEntry.get(g, "next_index") == w.next);
        CHECK(kEntry.get(g, "bad") == w.bad);
        if (w.bad) {
          CHECK(kEntry.get(g, "status") == w.status);
          ++bad;
        } else {
          CHECK(kEntry.get(g, "has2") == w.has2);
          CHECK(kEntry.get(g, "sampled") == (w.bytes[9] >> 5 & 1));
        }
        if (!w.bytes.empty()) {
          const Bits body = kEntry.get_bits(g, "wqe");
          CHECK(body.slice(0, 8 * w.bytes.size()) == Bits::from_bytes(w.bytes));
        }
        ++checked;
      }
      from_[d.qpn] = wqes.size();
      woken_.erase(d.qpn);
      open.erase(d.qpn);
    }
  }
  size_t per_qp(uint64_t qpn) {
    size_t n = 0;
    for (size_t i = from_[qpn]; i < wqes.size(); ++i) n += kEntry.get(wqes[i], "qpn") == qpn;
    return n;
  }
  void drive() {
    const uint64_t now = bench.cycle();
    top.wf_lk_ready = !lk_stall_();
    top.rdreq_ready = !rd_stall_();
    top.wf_ctx_valid = !ctx_.empty() && ctx_.front().first <= now;
    if (top.wf_ctx_valid) {
      const Ring& ring = rings.at(ctx_.front().second);
      write_pin(
          top.wf_ctx,
          kConn.pack({{"exists", ring.exists}, {"log_sq", ring.log_sq}, {"sq_base", ring.base}}));
      ctx_.pop_front();
    }
    std::vector<size_t> due;
    for (size_t i = 0; i < tlps_.size(); ++i) {
      if (tlps_[i].due <= now) due.push_back(i);
    }
    top.rdrsp_valid = !due.empty() && !rsp_stall_();
    if (!top.rdrsp_valid) {
      // Somebody else's data must not disturb.
      top.rdrsp_valid = random_.chance(0.2);
      if (top.rdrsp_valid) {
        write_pin(
            top.rdrsp,
            kRdRsp.pack({{"client", 1}, {"slot", random_.below(3)}, {"cnt", 3}, {"dst_off", 5}}));
      }
      return;
    }
    const size_t pick = in_order ? due.front() : due[random_.below(due.size())];
    Tlp& t = tlps_[pick];
    const Ring& ring = rings.at(t.qpn);
    if (t.fails && random_.chance(0.5)) {
      // The rest of the TLP does not come.
      write_pin(top.rdrsp, kRdRsp.pack({{"client", 0},
                                        {"slot", t.slot},
                                        {"tlp", t.number},
                                        {"tlp_last", 1},
                                        {"dst_off", t.dst},
                                        {"err", 1},
                                        {"status", 0x23},
                                        {"lost", t.left}}));
      for (uint64_t i = t.dst; i < t.dst + t.left; ++i)
        lost_[t.serial].insert(static_cast<unsigned>(i / 64));
      t.left = 0;
    } else {
      const uint64_t n = std::min<uint64_t>(t.left, b_ - t.addr % b_);
      std::vector<uint8_t> lanes = random_.bytes(b_);
      for (uint64_t i = 0; i < n; ++i)
        lanes[(t.dst + i) % b_] = ring.bytes.at(t.addr - ring.base + i);
      write_pin(top.rdrsp_data, Bits::from_bytes(lanes));
      write_pin(top.rdrsp, kRdRsp.pack({{"client", 0},
                                        {"slot", t.slot},
                                        {"tlp", t.number},
                                        {"tlp_last", n == t.left},
                                        {"dst_off", t.dst},
                                        {"cnt", n}}));
      t.addr += n;
      t.dst += n;
      t.left -= n;
    }
    if (t.left == 0) {
      rsp_cycles.push_back(now);
      tlps_.erase(tlps_.begin() + static_cast<std::ptrdiff_t>(pick));
    }
  }

  Stall rd_stall_, rsp_stall_, lk_stall_;
  Rng random_ = rng("world");
  std::deque<std::pair<uint64_t, uint64_t>> ctx_;
  std::vector<Tlp> tlps_;
  uint64_t serial_ = 0;
  std::map<uint64_t, uint64_t> numbers_, asked_, of_slot_;  // by slot
  std::map<uint64_t, uint64_t> unread_;                     // by job
  std::map<uint64_t, std::set<unsigned>> lost_;
  std::map<uint64_t, size_t> from_;
  std::set<uint64_t> woken_;
  size_t seen_done_ = 0;
};

Wqe any_wqe(Rng& r) {
  Wqe w;
  const auto kind = r.below(10);
  if (kind < 4) {
    w = Wqe::write(r.u64(), r.u32(), {{r.u32(), r.u32(), r.u64()}});
  } else if (kind < 6) {
    w = Wqe::write(r.u64(), r.u32(),
                   {{r.u32(), r.u32(), r.u64()}, {1, 2, 3}, {4, 5, 6}, {r.u32(), 7, 8}});
  } else if (kind < 9) {
    w = Wqe::write_inline(r.u64(), r.u32(), r.bytes(r.between(0, r.chance(0.3) ? 600 : 96)));
  } else {
    w = Wqe::write(1, 2, {});
    w.opcode = static_cast<uint8_t>(r.below(32));
  }
  w.sampled = r.chance(0.2);
  return w;
}

template <class Model>
constexpr unsigned kDataW = 1024;
template <>
constexpr unsigned kDataW<Vfetch128> = 128;
template <>
constexpr unsigned kDataW<Vfetch256> = 256;
template <>
constexpr unsigned kDataW<Vfetch512> = 512;

template <class Model>
void random_jobs(unsigned data_w, Stall stall, double fail, double malformed, int rounds) {
  World<Model> w(data_w, stall);
  auto r = rng("jobs");
  w.fail = fail;
  w.lk_late = 5;
  std::map<uint64_t, uint16_t> at;
  for (uint64_t q = 0; q < 10; ++q) {
    w.rings.emplace(
        q, Ring(1 + static_cast<unsigned>(q % 6), 0x1000'0000 + (q << 16) + 64 * r.below(5)));
    w.rings[q].bytes = std::vector<uint8_t>(w.rings[q].bytes.size());
    at[q] = static_cast<uint16_t>(r.u32());
  }
  for (int i = 0; i < rounds; ++i) {
    const uint64_t q = r.below(10);
    if (w.open.count(q)) {
      w.bench.tick(r.between(1, 10));
      continue;
    }
    Ring& ring = w.rings[q];
    const unsigned size = 1u << ring.log_sq;
    const unsigned avail = static_cast<unsigned>(r.between(1, size));
    // Fill the blocks with WQEs, now and then malformed ones or links.
    for (unsigned k = 0; k < avail;) {
      Wqe wqe = any_wqe(r);
      while (wqe.block_count() > size - k) wqe = any_wqe(r);
      const uint16_t index = static_cast<uint16_t>(at[q] + k);
      if (r.chance(malformed)) {
        const auto kind = r.below(5);
        if (kind == 0) wqe.seg_cnt = static_cast<uint8_t>(r.below(16));
        if (kind == 1) wqe.next = 2;
        if (kind == 2) wqe.next = (ring.base + 64 * r.below(2 * size)) | 1;
        if (kind == 3) wqe.next = (ring.base - 64) | 1;
        if (kind == 4) {
          wqe = Wqe::write_inline(1, 2, r.bytes(40));
          wqe.inline_len = static_cast<uint16_t>(r.between(4060, 4095));
          wqe.data.resize(10);
        }
      } else if (r.chance(0.1)) {
        wqe.next = (ring.base + 64 * r.below(size)) | 1;
      }
      auto image = wqe.image(index);
      image.resize(std::min<size_t>(image.size(), 64 * size));
      if (r.chance(malformed / 4)) image[12] ^= 1;
      ring.put(index, image);
      k += wqe.block_count();
    }
    ring.exists = !r.chance(0.02);
    w.give({q, at[q], static_cast<unsigned>(r.between(std::min(avail, 2u), std::min(avail, 16u))),
            static_cast<uint16_t>(avail)});
    at[q] = static_cast<uint16_t>(at[q] + r.between(0, 5));
    if (r.chance(0.3)) w.bench.tick(r.between(1, 30));
  }
  w.drain();
  CHECK(w.checked > 40);
  if (fail == 0 && malformed == 0) CHECK(w.bad == 0);
  if (fail > 0.1 || malformed > 0.1) CHECK(w.bad > 0);
}

}  // namespace

TEMPLATE_TEST_CASE("wqe_fetch_engine decodes random rings from reads that come in any order", "",
                   Vfetch128, Vfetch256, Vfetch512, Vfetch1024) {
  const unsigned data_w = kDataW<TestType>;
  SECTION("well formed, no stalls") { random_jobs<TestType>(data_w, Stall::none(), 0, 0, 400); }
  SECTION("malformed") { random_jobs<TestType>(data_w, Stall::random(0.3), 0, 0.3, 400); }
  SECTION("failing reads") { random_jobs<TestType>(data_w, Stall::random(0.3), 0.3, 0.1, 400); }
  SECTION("heavy stalls") { random_jobs<TestType>(data_w, Stall::bursts(0.2, 20), 0.02, 0, 600); }
}

TEMPLATE_TEST_CASE("wqe_fetch_engine reads over the end of the ring from every position", "",
                   Vfetch128, Vfetch256, Vfetch512, Vfetch1024) {
  const unsigned data_w = kDataW<TestType>;
  World<TestType> w(data_w);
  auto r = rng("wrap");
  for (unsigned log = 1; log <= 5; ++log) {
    for (uint32_t start = 0; start < (1u << log); ++start) {
      w.rings[log] = Ring(log, 0x8000 + 64 * start);
      const unsigned size = 1u << log;
      const uint16_t index = static_cast<uint16_t>(0xFFE0 + start);
      for (unsigned k = 0; k < size;) {
        Wqe wqe = size - k >= 2 && r.chance(0.6)
                      ? Wqe::write_inline(1, 2, r.bytes(r.between(33, 96)))
                      : Wqe::write_inline(1, 2, r.bytes(r.between(0, 32)));
        w.rings[log].put(static_cast<uint16_t>(index + k),
                         wqe.image(static_cast<uint16_t>(index + k)));
        k += wqe.block_count();
      }
      w.give({log, index, std::min(size, 16u), static_cast<uint16_t>(size)});
      w.drain();
    }
  }
  CHECK(w.bad == 0);
}

TEST_CASE("wqe_fetch_engine keeps its latency and throughput") {
  World<Vfetch512> w(512);
  w.low = w.high = 10;
  w.in_order = true;
  w.max_tlp = 512;
  for (uint64_t q = 0; q < 8; ++q) {
    w.rings[q] = Ring(6, 0x10000 * (q + 1));
    for (uint16_t k = 0; k < 64; ++k)
      w.rings[q].put(k, Wqe::write_inline(1, 2, {1, 2, 3}).image(k));
  }
  w.give({0, 0, 1, 1});
  w.drain();
  CHECK(w.rd_cycles[0] - w.jobs.cycles()[0] == 1);
  CHECK(w.wqes.cycles()[0] - w.rsp_cycles[0] == 2);
  const size_t before = w.wqes.size();
  for (uint64_t q = 0; q < 8; ++q) w.give({q, 0, 16, 16});
  w.drain();
  const auto& c = w.wqes.cycles();
  REQUIRE(w.wqes.size() == before + 128);
  const double per = static_cast<double>(c[before + 100] - c[before + 20]) / 80;
  WARN("64 B WQEs: " << per << " cycles each; jobs every "
                     << static_cast<double>(w.jobs.cycles()[8] - w.jobs.cycles()[1]) / 7
                     << " cycles");
  CHECK(per <= 1.1);
  CHECK(w.jobs.cycles()[8] - w.jobs.cycles()[1] <= 14);
}

TEST_CASE("wqe_fetch_engine starts again after a reset with reads in flight elsewhere") {
  World<Vfetch512> w(512);
  w.rings[1] = Ring(4, 0x10000);
  w.rings[1].put(0, Wqe::write_inline(1, 2, {1, 2, 3}).image(0));
  for (int i = 0; i < 5; ++i) {
    w.top.wqe_req_valid = 0;
    w.bench.reset();
    w.give({1, 0, 1, 1});
    w.drain();
  }
  CHECK(w.checked == 5);
}
