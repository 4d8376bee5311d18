// SPDX-License-Identifier: Apache-2.0
// Paged regions and changes of regions by work requests, against plain arithmetic on page lists
// that the test keeps in a map.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "Vmr_table.h"
#include "tests/rx_responder/receive_types.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

constexpr uint32_t kEntries = 50;  // N_MR of the model
constexpr uint64_t kListBase = 0x7000'0000;

constexpr uint32_t kClientMtt = 4;
constexpr uint32_t kPageBits[] = {0, 12, 16, 21};

struct Region {
  bool exists = false, valid = false, zero_based = false;
  uint8_t tag = 0;
  uint8_t access = 0xF;  // bit 0 lwrite, 1 rwrite, 2 rread, 3 atomic
  uint16_t pd = 0;
  uint64_t va = 0, length = 0, iova = 0;
  uint32_t page = 0, first = 0;
};

struct Request {
  uint32_t key = 0;
  uint16_t pd = 0;
  uint64_t va = 0;
  uint32_t len = 0;
  uint8_t need = 0;
};

struct Answer {
  bool ok = false, flat = true;
  uint64_t iova = 0;
  uint32_t room = 4096;
};

struct World {
  Bench<Vmr_table> bench;
  Rng random = rng("mr_pages");
  std::map<uint32_t, Region> table;
  std::map<uint64_t, uint64_t> lists;  // host memory: address of an entry, its value
  std::map<uint64_t, bool> broken;     // entries whose read fails
  uint64_t next_list = kListBase;

  std::unique_ptr<StreamSource<Bits>> ask[4], lop[2];
  std::deque<Request> asked[4];
  std::deque<std::vector<Answer>> expected[4];  // answers that are right
  uint64_t answers = 0, good = 0, reads = 0, hits = 0, misses = 0, paged = 0;

  struct Read {
    uint64_t due, addr;
    uint32_t slot;
  };
  std::deque<Read> pending;
  std::optional<Read> shown;
  uint64_t latency = 20;

  // A region that changes: while it does, its old state is right too.
  std::optional<std::pair<uint32_t, Region>> changing;
  int done[2] = {0, 0};
  bool done_ok[2] = {false, false};

  World() {
    auto& t = bench.top();
    for (int i = 0; i < 8; ++i) t.gpu_base_i[i] = t.gpu_limit_i[i] = 0;
    t.devmem_base_i = 0xFFFF'FFFF'FF00'0000;
    t.gdr_en_i = 1;
    t.cw_valid = t.cr_valid = t.rdrsp_valid = 0;
    t.rdreq_ready = 1;
    ask[0] =
        std::make_unique<StreamSource<Bits>>(bench, "mrq0", t.mrq0_valid, t.mrq0_ready, t.mrq0);
    ask[1] =
        std::make_unique<StreamSource<Bits>>(bench, "mrq1", t.mrq1_valid, t.mrq1_ready, t.mrq1);
    ask[2] =
        std::make_unique<StreamSource<Bits>>(bench, "mrq2", t.mrq2_valid, t.mrq2_ready, t.mrq2);
    ask[3] =
        std::make_unique<StreamSource<Bits>>(bench, "mrq3", t.mrq3_valid, t.mrq3_ready, t.mrq3);
    lop[0] =
        std::make_unique<StreamSource<Bits>>(bench, "lop0", t.lop0_valid, t.lop0_ready, t.lop0);
    lop[1] =
        std::make_unique<StreamSource<Bits>>(bench, "lop1", t.lop1_valid, t.lop1_ready, t.lop1);
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset({&t.rst_i});
    bench.wait(
        "init", [&] { return bench->init_done_o != 0; }, 100);
  }

  // A page list with random page addresses; returns where it stands.
  uint64_t make_list(uint32_t page, uint64_t bytes) {
    const uint64_t at = next_list;
    const uint64_t pages = (bytes >> kPageBits[page]) + 2;
    for (uint64_t i = 0; i < pages; ++i) {
      const uint64_t where = (random.below(1u << 20) + 16) << kPageBits[page];
      lists[at + 8 * i] = where | random.below(4096);  // low bits are ignored
    }
    next_list += 8 * pages + 64;
    return at;
  }

  Answer model(const Region& m, const Request& r) const {
    Answer a;
    if (r.len == 0) {
      a.ok = true;
      return a;
    }
    if (!m.valid || m.tag != (r.key & 0xFF) || m.pd != r.pd || (r.need & ~m.access) != 0) return a;
    const uint64_t base = m.zero_based ? 0 : m.va;
    if (r.va < base || r.va - base + r.len > m.length) return a;
    const uint64_t offset = r.va - base;
    if (m.page == 0) {
      a.ok = true;
      a.iova = m.iova + offset;
      return a;
    }
    const uint64_t at = m.first + offset, size = uint64_t{1} << kPageBits[m.page];
    const uint64_t entry = m.iova + 8 * (at / size);
    a.flat = false;
    a.ok = !broken.contains(entry);
    const uint64_t room = size - at % size;
    a.room = static_cast<uint32_t>(room < 4096 ? room : 4096);
    a.iova = (lists.at(entry) & ~uint64_t{0xFFF}) + at % size;
    return a;
  }
  Answer model(const Request& r) const {
    auto it = table.find(r.key >> 8);
    return model(it == table.end() ? Region{} : it->second, r);
  }

  void request(int port, const Request& r) {
    ask[port]->push(kMrReq.pack({{"key", r.key},
                                 {"pd", r.pd},
                                 {"va", r.va},
                                 {"len", r.len},
                                 {"need_lwrite", r.need & 1},
                                 {"need_rwrite", r.need >> 1 & 1},
                                 {"need_rread", r.need >> 2 & 1},
                                 {"need_atomic", r.need >> 3 & 1}}));
    asked[port].push_back(r);
  }

  void set(uint32_t index, const Region& m) {
    auto& t = bench.top();
    write_pin(t.cw, kMr.pack({{"valid", m.valid},
                              {"tag", m.tag},
                              {"lwrite", m.access & 1},
                              {"rwrite", m.access >> 1 & 1},
                              {"rread", m.access >> 2 & 1},
                              {"atomic", m.access >> 3 & 1},
                              {"zero_based", m.zero_based},
                              {"pd", m.pd},
                              {"va", m.va},
                              {"length", m.length},
                              {"iova", m.iova},
                              {"exists", m.exists},
                              {"page", m.page},
                              {"first", m.first}}));
    t.cw_index = index;
    t.cw_valid = 1;
    bench.tick();
    t.cw_valid = 0;
    table[index] = m;
  }

  // LOCAL_INV (port 0), SEND with invalidate (port 1), FAST_REG (port 0).
  bool change(int port, uint32_t op, uint32_t key, uint16_t pd, const Region& m = {}) {
    Bits b = kLop.pack({{"op", op}, {"remote", port}, {"key", key}, {"pd", pd}});
    const size_t low = 0;  // desc is the lowest field
    b.set(low + 128, 64, m.va);
    b.set(low + 192, 32, key);
    b.set(low + 224, 4, m.access);
    b.set(low + 228, 1, m.zero_based);
    b.set(low + 232, 2, m.page);
    b.set(low + 256, 64, m.length);
    b.set(low + 320, 64, m.iova);
    b.set(low + 384, 32, m.first);
    const int before = done[port];
    const uint32_t index = key >> 8;
    // Meanwhile lookups may see either state.
    if (table.contains(index)) {
      Region after = table[index];
      after.valid = false;
      if (op == 1) {
        after = m;
        after.exists = after.valid = true;
        after.tag = static_cast<uint8_t>(key);
        after.pd = pd;
      }
      changing = {{index, after}};
    }
    lop[port]->push(b);
    bench.wait("done", [&] { return done[port] != before; });
    const bool ok = done_ok[port];
    if (ok) table[index] = changing->second;
    changing.reset();
    return ok;
  }

  void check(int port, const Bits& got) {
    if (expected[port].empty()) throw std::runtime_error("answer without a request");
    const std::vector<Answer> right = expected[port].front();
    expected[port].pop_front();
    ++answers;
    for (const Answer& a : right) {
      if ((kMrRsp.get(got, "ok") != 0) != a.ok) continue;
      if (!a.ok || a.iova == 0) return;
      if (kMrRsp.get(got, "iova") == a.iova && kMrRsp.get(got, "room") == a.room &&
          (kMrRsp.get(got, "flat") != 0) == a.flat) {
        ++good;
        paged += !a.flat;
        return;
      }
    }
    throw std::runtime_error("wrong answer " + got.hex());
  }

  void sample() {
    auto& t = bench.top();
    hits += t.cnt_mtt_hits_o;
    misses += t.cnt_mtt_misses_o;
    if (t.mrs0_valid) check(0, read_pin(t.mrs0));
    if (t.mrs1_valid) check(1, read_pin(t.mrs1));
    if (t.mrs2_valid) check(2, read_pin(t.mrs2));
    if (t.mrs3_valid) check(3, read_pin(t.mrs3));
    const bool fire[4] = {t.mrq0_valid && t.mrq0_ready, t.mrq1_valid && t.mrq1_ready,
                          t.mrq2_valid && t.mrq2_ready, t.mrq3_valid && t.mrq3_ready};
    for (int p = 0; p < 4; ++p) {
      if (!fire[p]) continue;
      const Request& r = asked[p].front();
      std::vector<Answer> right{model(r)};
      if (changing && changing->first == r.key >> 8) right.push_back(model(changing->second, r));
      expected[p].push_back(right);
      asked[p].pop_front();
    }
    if (t.rdreq_valid && t.rdreq_ready) {
      const Bits r = read_pin(t.rdreq);
      if (kRdReq.get(r, "len") != 8) throw std::runtime_error("a list read is 8 bytes");
      pending.push_back({bench.cycle() + latency + random.below(latency), kRdReq.get(r, "addr"),
                         static_cast<uint32_t>(kRdReq.get(r, "slot"))});
      ++reads;
    }
    if (t.lop0_done_valid) {
      ++done[0];
      done_ok[0] = t.lop0_done_ok;
    }
    if (t.lop1_done_valid) {
      ++done[1];
      done_ok[1] = t.lop1_done_ok;
    }
  }

  void drive() {
    auto& t = bench.top();
    t.rdrsp_valid = 0;
    t.rdreq_ready = random.chance(0.8);
    // Reads come back in any order; other clients' answers come in between.
    for (size_t i = 0; i < pending.size(); ++i) {
      if (pending[i].due > bench.cycle()) continue;
      const Read r = pending[i];
      pending.erase(pending.begin() + static_cast<ptrdiff_t>(i));
      if (!lists.contains(r.addr)) throw std::runtime_error("read outside every page list");
      const bool bad = broken.contains(r.addr);
      write_pin(t.rdrsp, kRdRsp.pack({{"client", kClientMtt},
                                      {"slot", r.slot},
                                      {"tlp_last", 1},
                                      {"cnt", bad ? 0 : 8},
                                      {"err", bad},
                                      {"status", bad ? 4 : 0},
                                      {"lost", bad ? 8 : 0}}));
      t.rdrsp_data = bad ? 0 : lists.at(r.addr);
      t.rdrsp_valid = 1;
      return;
    }
    if (random.chance(0.3)) {
      write_pin(t.rdrsp, kRdRsp.pack({{"client", 1}, {"slot", random.below(4)}, {"cnt", 8}}));
      t.rdrsp_data = random.u64();
      t.rdrsp_valid = 1;
    }
  }

  void finish() {
    bench.wait(
        "answers",
        [&] {
          for (int p = 0; p < 4; ++p) {
            if (!asked[p].empty() || !expected[p].empty()) return false;
          }
          return true;
        },
        200000);
  }

  Region paged_region(uint32_t page, uint64_t bytes, bool zero_based = false) {
    Region m;
    m.exists = m.valid = true;
    m.zero_based = zero_based;
    m.tag = static_cast<uint8_t>(random.u64());
    m.pd = static_cast<uint16_t>(random.below(4));
    m.va = zero_based ? 0 : random.u64() >> 8;
    m.length = bytes;
    m.page = page;
    m.first = static_cast<uint32_t>(random.below(1u << kPageBits[page]));
    m.iova = make_list(page, bytes + m.first);
    return m;
  }
  Request inside(uint32_t index, uint32_t longest) {
    const Region& m = table.at(index);
    Request r{index << 8 | m.tag, m.pd, 0, 0, 0};
    r.len = static_cast<uint32_t>(1 + random.below(longest < m.length ? longest : m.length));
    r.va = (m.zero_based ? 0 : m.va) + random.below(m.length - r.len + 1);
    return r;
  }
};

}  // namespace

TEST_CASE("mr_table pages: every page size, every place in a page") {
  World w;
  uint32_t index = 0;
  for (uint32_t page = 1; page <= 3; ++page) {
    for (bool zero : {false, true}) {
      w.set(index, w.paged_region(page, (uint64_t{3} << kPageBits[page]) + 77, zero));
      const Region& m = w.table[index];
      // Around every page border, then anywhere.
      for (uint64_t k = 0; k <= 3; ++k) {
        for (int d = -2; d <= 2; ++d) {
          const uint64_t at = (k << kPageBits[page]) + static_cast<uint64_t>(d);
          if (at < m.first || at - m.first + 1 > m.length) continue;
          w.request(static_cast<int>(w.random.below(4)),
                    {index << 8 | m.tag, m.pd, (zero ? 0 : m.va) + at - m.first, 1, 0});
        }
      }
      for (int i = 0; i < 60; ++i) {
        w.request(static_cast<int>(w.random.below(4)), w.inside(index, 9000));
      }
      ++index;
    }
  }
  w.finish();
  CHECK(w.paged > 300);
  CHECK(w.good == w.answers);
  CHECK(w.hits > 20);  // eight lines
  CHECK(w.misses == w.reads);
  CHECK(w.hits + w.misses == w.answers);
}

TEST_CASE("mr_table pages: flat and paged lookups in one stream keep their order") {
  World w;
  w.latency = 60;
  for (uint32_t i = 0; i < 12; ++i) {
    if (i % 2 == 0) {
      w.set(i, w.paged_region(1 + i / 2 % 3, 100'000));
    } else {
      Region m = w.paged_region(1, 100'000);
      m.page = m.first = 0;
      w.set(i, m);
    }
  }
  for (int n = 0; n < 3000; ++n) {
    Request r = w.inside(static_cast<uint32_t>(w.random.below(12)), 8192);
    if (w.random.chance(0.1)) r.key ^= 1;
    if (w.random.chance(0.1)) r.va += 200'000;
    if (w.random.chance(0.05)) r.len = 0;
    w.request(static_cast<int>(w.random.below(4)), r);
  }
  w.finish();
  CHECK(w.good > 2000);
}

TEST_CASE("mr_table pages: a list entry that cannot be read refuses its page and is not kept") {
  World w;
  w.set(7, w.paged_region(1, 3 * 4096));
  const Region m = w.table[7];
  const Request first{7u << 8 | m.tag, m.pd, m.va, 1, 0};
  w.broken[m.iova] = true;
  w.request(0, first);
  w.request(1, {7u << 8 | m.tag, m.pd, m.va + 4096, 1, 0});  // the next page is good
  w.finish();
  CHECK(w.good == 1);
  w.broken.clear();
  w.request(0, first);
  w.finish();
  CHECK(w.good == 2);
}

TEST_CASE("mr_table pages: a region registered anew finds nothing of its past in the cache") {
  World w;
  for (int round = 0; round < 40; ++round) {
    w.set(3, w.paged_region(1, 2 * 4096));
    for (int i = 0; i < 6; ++i) w.request(i & 3, w.inside(3, 100));
    w.finish();
  }
  CHECK(w.good == 240);
}

TEST_CASE("mr_table: the registration number starts again after 2^16 writes, the cache forgets") {
  World w;
  w.set(3, w.paged_region(1, 4096));
  for (int i = 0; i < 4; ++i) w.request(i, w.inside(3, 1));
  w.finish();
  // The same number comes round again, for another list.
  const Region other = w.paged_region(1, 4096);
  for (int i = 0; i < 0xFFFF; ++i) w.set(4, Region{});
  w.set(3, other);
  for (int i = 0; i < 4; ++i) w.request(i, w.inside(3, 1));
  w.finish();
  CHECK(w.good == 8);
}

TEST_CASE("mr_table: LOCAL_INV and SEND with invalidate take a region away, with tag and PD") {
  World w;
  for (int port : {0, 1}) {
    w.set(5, w.paged_region(1, 8192));
    const Region m = w.table[5];
    const uint32_t key = 5u << 8 | m.tag;
    CHECK_FALSE(w.change(port, 0, key ^ 1, m.pd));                         // another tag
    CHECK_FALSE(w.change(port, 0, key, static_cast<uint16_t>(m.pd + 1)));  // another PD
    CHECK_FALSE(w.change(port, 0, 6u << 8, m.pd));                         // does not exist
    CHECK_FALSE(w.change(port, 0, kEntries << 8, m.pd));
    w.request(0, {key, m.pd, m.va, 1, 0});
    w.finish();
    CHECK(w.good == static_cast<uint64_t>(port) + 1);
    CHECK(w.change(port, 0, key, m.pd));
    w.request(0, {key, m.pd, m.va, 1, 0});
    w.finish();
    CHECK(w.good == static_cast<uint64_t>(port) + 1);
    CHECK_FALSE(w.change(port, 0, key, m.pd));  // not twice
  }
}

TEST_CASE("mr_table: FAST_REG makes an invalid region valid under a new tag, and only such a one") {
  World w;
  Region fresh = w.paged_region(1, 8192);
  fresh.valid = false;
  w.set(9, fresh);
  Region m = w.paged_region(2, 70'000);
  m.pd = fresh.pd;
  const uint32_t key = 9u << 8 | 0x5A;
  Region bad = m;
  bad.length = 0;
  CHECK_FALSE(w.change(0, 1, key, m.pd, bad));
  bad = m;
  bad.first = 0x10000;  // past its page
  CHECK_FALSE(w.change(0, 1, key, m.pd, bad));
  bad = m;
  bad.iova += 4;  // list not aligned
  CHECK_FALSE(w.change(0, 1, key, m.pd, bad));
  bad = m;
  bad.va = ~uint64_t{0} - 100;  // wraps
  CHECK_FALSE(w.change(0, 1, key, m.pd, bad));
  CHECK_FALSE(w.change(0, 1, key, static_cast<uint16_t>(m.pd + 1), m));
  CHECK_FALSE(w.change(0, 1, 10u << 8, m.pd, m));
  CHECK(w.change(0, 1, key, m.pd, m));
  for (int i = 0; i < 40; ++i) w.request(i & 3, w.inside(9, 5000));
  w.finish();
  CHECK(w.good == 40);
  CHECK_FALSE(w.change(0, 1, key, m.pd, m));  // it is valid now
  CHECK(w.change(0, 0, key, m.pd));
  CHECK(w.change(0, 1, key + 1, m.pd, m));
}

TEST_CASE("mr_table: regions change while they are in use; answers are of the old or the new one") {
  World w;
  for (uint32_t i = 0; i < 4; ++i) w.set(i, w.paged_region(1 + i % 3, 50'000));
  for (int round = 0; round < 150; ++round) {
    const uint32_t index = static_cast<uint32_t>(w.random.below(4));
    for (int n = 0; n < 12; ++n) {
      w.request(static_cast<int>(w.random.below(4)),
                w.inside(static_cast<uint32_t>(w.random.below(4)), 6000));
    }
    w.bench.tick(w.random.below(30));
    const Region m = w.table[index];
    const uint32_t key = index << 8 | m.tag;
    if (m.valid) {
      CHECK(w.change(static_cast<int>(w.random.below(2)), 0, key, m.pd));
    } else {
      Region next = w.paged_region(1 + index % 3, 50'000);
      next.pd = m.pd;
      CHECK(w.change(0, 1, index << 8 | next.tag, m.pd, next));
    }
    if (w.random.chance(0.2)) w.set(40, w.paged_region(1, 4096));
  }
  w.finish();
  CHECK(w.good > 500);
}
