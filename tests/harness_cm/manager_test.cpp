// SPDX-License-Identifier: Apache-2.0
// Two managers on a wire that may lose, repeat or delay each datagram, and one manager before the
// recorded datagrams of Linux.
#include "harness/cm/manager.hpp"

#include <algorithm>
#include <deque>
#include <functional>

#include "harness/cm/ip_service.hpp"
#include "harness/roce/bytes.hpp"
#include "tests/harness_cm/recorded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::cm;
using namespace std::chrono_literals;
using rnic::roce::ipv4_address;

namespace {

const Gid kClientGid = ipv4_address(10, 77, 0, 1);
const Gid kServerGid = ipv4_address(10, 77, 0, 2);
const uint64_t kService = service_id(kTcpSpace, 7174);
constexpr uint32_t kClientQpn = 0x14, kServerQpn = 0x1F;

// How often a datagram is delivered: 0 loses it.
using Fate = std::function<unsigned(const std::string& name, unsigned nth)>;

struct Side {
  Side(Gid gid, uint64_t guid, uint64_t seed)
      : cm({.gids = {gid}, .ca_guid = guid, .seed = seed}) {}
  Manager cm;
  std::vector<Event> events;
  bool saw(EventKind kind) const { return count(kind) != 0; }
  long count(EventKind kind) const {
    return std::ranges::count_if(events, [&](const Event& e) { return e.kind == kind; });
  }
  const Event& only(EventKind kind) const {
    REQUIRE(count(kind) == 1);
    return *std::ranges::find_if(events, [&](const Event& e) { return e.kind == kind; });
  }
};

class Pair {
 public:
  explicit Pair(Fate fate = [](const std::string&, unsigned) { return 1u; })
      : fate_(std::move(fate)) {
    server.cm.listen(kService);
  }

  Side client{kClientGid, 0xA, 1}, server{kServerGid, 0xB, 2};
  Time now{};
  std::vector<std::string> wire;  // every datagram that was sent

  Id connect() {
    Req req;
    req.service_id = kService;
    req.qpn = kClientQpn;
    req.psn = 0x123456;
    req.primary.ack_timeout = 14;
    return client.cm.connect(now, {kClientGid, kServerGid}, req);
  }

  // Delivers, answers and lets time pass until nothing is due any more or `done` says so.
  template <class Done>
  void run(Done done) {
    for (unsigned step = 0; step < 1'000; ++step) {
      while (move()) {
        if (done()) return;
      }
      const auto due = std::min(client.cm.next_deadline().value_or(Time::max()),
                                server.cm.next_deadline().value_or(Time::max()));
      if (done() || due == Time::max()) return;
      now = due;
      client.cm.advance(now);
      server.cm.advance(now);
    }
    FAIL("the managers do not come to rest");
  }
  void settle() {
    run([] { return false; });
  }

  bool accept = true;   // the server's user answers a request
  bool confirm = true;  // the client's user answers a reply

 private:
  bool move() {
    const bool moved = carry(client, server) | carry(server, client);
    answer(client);
    answer(server);
    return moved;
  }

  bool carry(Side& from, Side& to) {
    const auto all = from.cm.take_outgoing();
    for (const Outgoing& o : all) {
      const std::string what = name(decode(o.mad).message);
      wire.push_back(what);
      const unsigned copies = fate_(what, ++sent_[what]);
      for (unsigned i = 0; i < copies; ++i) {
        to.cm.receive(now, {o.ends.remote, o.ends.local}, o.mad);
      }
    }
    return !all.empty();
  }

  void answer(Side& side) {
    for (Event& e : side.cm.take_events()) {
      if (e.kind == EventKind::kRequest && accept) {
        side.cm.accept(now, e.id, Rep{.qpn = kServerQpn, .psn = 0x654321});
      }
      if (e.kind == EventKind::kReply && confirm) side.cm.confirm(now, e.id);
      side.events.push_back(std::move(e));
    }
  }

  Fate fate_;
  std::map<std::string, unsigned> sent_;
};

Fate lose(const std::string& victim, unsigned first = 1) {
  return [=](const std::string& name, unsigned nth) {
    return name == victim && nth <= first ? 0u : 1u;
  };
}

// A connection comes up, is ended by the client, and both sides are told once of each step.
void check_life(Pair& pair) {
  const Id id = pair.connect();
  pair.run([&] {
    return pair.client.saw(EventKind::kReply) && pair.server.saw(EventKind::kEstablished);
  });
  const Event& request = pair.server.only(EventKind::kRequest);
  CHECK(request.req.qpn == kClientQpn);
  CHECK(request.req.psn == 0x123456);
  CHECK(request.req.primary.local_gid == kClientGid);
  CHECK(pair.client.only(EventKind::kReply).rep.qpn == kServerQpn);
  REQUIRE(pair.client.cm.state(id) == State::kEstablished);
  REQUIRE(pair.server.cm.state(request.id) == State::kEstablished);

  pair.client.cm.disconnect(pair.now, id);
  pair.settle();
  for (const Side* side : {&pair.client, &pair.server}) {
    CHECK(side->count(EventKind::kDisconnected) == 1);
    CHECK(side->count(EventKind::kClosed) == 1);
    CHECK(!side->saw(EventKind::kUnanswered));
  }
  CHECK(!pair.client.cm.state(id));
}

}  // namespace

TEST_CASE("a connection comes up in three datagrams and ends in two", "[manager]") {
  Pair pair;
  check_life(pair);
  CHECK(pair.wire == std::vector<std::string>{"REQ", "REP", "RTU", "DREQ", "DREP"});
  CHECK(pair.client.cm.counters().repeated == 0);
  CHECK(pair.server.cm.counters().duplicates == 0);
}

TEST_CASE("any single datagram may be lost", "[manager]") {
  for (const char* victim : {"REQ", "REP", "RTU", "DREQ", "DREP"}) {
    INFO("lost " << victim);
    Pair pair(lose(victim));
    check_life(pair);
    CHECK(pair.client.cm.counters().repeated + pair.server.cm.counters().repeated > 0);
  }
}

TEST_CASE("every datagram may come twice", "[manager]") {
  Pair pair([](const std::string&, unsigned) { return 2u; });
  check_life(pair);
  CHECK(pair.server.cm.counters().duplicates > 0);
  CHECK(pair.client.cm.counters().duplicates > 0);
}

TEST_CASE("a wire that loses a third and repeats a tenth still connects", "[manager]") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    Pair pair([&](const std::string&, unsigned) {
      const uint64_t dice = random() % 30;
      return dice < 10 ? 0u : dice < 13 ? 2u : 1u;
    });
    check_life(pair);
  }
}

TEST_CASE("a REQ that nobody answers is repeated as often as asked and then given up",
          "[manager]") {
  Pair pair(lose("REQ", 1'000));
  Req req;
  req.service_id = kService;
  req.max_retries = 3;
  req.remote_response_timeout = 10;
  const Id id = pair.client.cm.connect(pair.now, {kClientGid, kServerGid}, req);
  const Time first = pair.client.cm.next_deadline().value();
  CHECK(first == 3 * exponent_time(10));  // response time and the way there and back
  pair.settle();
  CHECK(pair.client.only(EventKind::kUnanswered).id == id);
  CHECK(pair.now == 4 * first);
  CHECK(pair.wire == std::vector<std::string>{"REQ", "REQ", "REQ", "REQ", "REJ"});
}

TEST_CASE("the REJ of a requester that gave up ends what the server had begun", "[manager]") {
  Pair pair(lose("REP", 1'000));
  Req req;
  req.service_id = kService;
  req.max_retries = 0;
  req.remote_response_timeout = 4;
  pair.client.cm.connect(pair.now, {kClientGid, kServerGid}, req);
  pair.run([&] { return pair.server.saw(EventKind::kRejected); });
  CHECK(pair.server.only(EventKind::kRejected).reason == Reason::kTimeout);
}

TEST_CASE("a REP without RTU is given up by the server", "[manager]") {
  Pair pair;
  pair.confirm = false;
  pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kUnanswered); });
  CHECK(std::ranges::count(pair.wire, "REP") == 16);  // one and fifteen repeats
}

TEST_CASE("data on the QP stand for a lost RTU", "[manager]") {
  Pair pair(lose("RTU", 1'000));
  pair.connect();
  pair.run([&] { return pair.client.saw(EventKind::kReply); });
  const Id id = pair.server.only(EventKind::kRequest).id;
  REQUIRE(pair.server.cm.state(id) == State::kRepSent);
  pair.server.cm.data_arrived(pair.now, id);
  CHECK(pair.server.cm.state(id) == State::kEstablished);
  pair.settle();
  CHECK(pair.server.count(EventKind::kEstablished) == 1);
}

TEST_CASE("refusals carry their reason", "[manager]") {
  Pair pair;
  Req req;
  req.service_id = kService;
  Reason expected{};
  SECTION("nobody listens") {
    pair.server.cm.stop_listening(kService);
    expected = Reason::kInvalidServiceId;
  }
  SECTION("a transport that does not exist here") {
    req.transport = Transport::kRd;
    expected = Reason::kInvalidTransport;
  }
  SECTION("an MTU that does not exist") {
    req.mtu = 6;
    expected = Reason::kInvalidMtu;
  }
  pair.client.cm.connect(pair.now, {kClientGid, kServerGid}, req);
  pair.settle();
  CHECK(pair.client.only(EventKind::kRejected).reason == expected);
  CHECK(!pair.server.saw(EventKind::kRequest));
}

TEST_CASE("a REQ for an address that is not ours is refused", "[manager]") {
  Pair pair;
  Req req;
  req.service_id = kService;
  pair.client.cm.connect(pair.now, {kClientGid, ipv4_address(10, 77, 0, 3)}, req);
  pair.settle();
  CHECK(pair.client.only(EventKind::kRejected).reason == Reason::kInvalidGid);
}

TEST_CASE("the user's refusal takes his bytes along, from either side", "[manager]") {
  Pair pair;
  pair.accept = pair.confirm = false;
  const std::vector<uint8_t> why{1, 2, 3};
  const Id id = pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kRequest); });
  const Id theirs = pair.server.only(EventKind::kRequest).id;
  SECTION("the server's") {
    pair.server.cm.reject(pair.now, theirs, Reason::kConsumer, why);
    pair.settle();
    const Event& e = pair.client.only(EventKind::kRejected);
    CHECK(e.reason == Reason::kConsumer);
    CHECK(std::equal(why.begin(), why.end(), e.private_data.begin()));
  }
  SECTION("the client's") {
    pair.server.cm.accept(pair.now, theirs, Rep{.qpn = kServerQpn});
    pair.run([&] { return pair.client.saw(EventKind::kReply); });
    pair.client.cm.reject(pair.now, id, Reason::kConsumer, why);
    pair.settle();
    CHECK(pair.server.only(EventKind::kRejected).reason == Reason::kConsumer);
  }
}

TEST_CASE("an MRA makes the requester wait without using up a repeat", "[manager]") {
  Pair pair;
  pair.accept = false;
  const Id id = pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kRequest); });
  const Mra mra{.local_id = 9, .remote_id = id, .service_timeout = 22};
  pair.client.cm.receive(pair.now, {kClientGid, kServerGid}, encode({1, mra}));
  CHECK(pair.client.cm.counters().waits == 1);
  CHECK(pair.client.cm.next_deadline() == pair.now + exponent_time(22) + 2 * exponent_time(10));
}

TEST_CASE("a DREQ for a forgotten connection is answered", "[manager]") {
  Pair pair;
  const Dreq dreq{.local_id = 5, .remote_id = 6, .remote_qpn = 7};
  pair.server.cm.receive(0ns, {kServerGid, kClientGid}, encode({0x77, dreq}));
  const auto out = pair.server.cm.take_outgoing();
  REQUIRE(out.size() == 1);
  const Message message = decode(out[0].mad).message;
  const auto& drep = std::get<Drep>(message.body);
  CHECK(message.transaction == 0x77);
  CHECK(drep.local_id == 6);
  CHECK(drep.remote_id == 5);
  CHECK(pair.server.cm.take_events().empty());
}

TEST_CASE("a DREQ with another QP number does not end the connection", "[manager]") {
  Pair pair;
  const Id id = pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kEstablished); });
  const Id theirs = pair.server.only(EventKind::kRequest).id;
  const Dreq dreq{.local_id = id, .remote_id = theirs, .remote_qpn = kServerQpn + 1};
  pair.server.cm.receive(pair.now, {kServerGid, kClientGid}, encode({1, dreq}));
  CHECK(pair.server.cm.state(theirs) == State::kEstablished);
  CHECK(pair.server.cm.take_outgoing().empty());
}

TEST_CASE("both sides may end a connection at once", "[manager]") {
  Pair pair;
  const Id id = pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kEstablished); });
  pair.client.cm.disconnect(pair.now, id);
  pair.server.cm.disconnect(pair.now, pair.server.only(EventKind::kRequest).id);
  pair.settle();
  CHECK(pair.client.count(EventKind::kDisconnected) == 1);
  CHECK(pair.server.count(EventKind::kDisconnected) == 1);
}

TEST_CASE("a peer that vanished is disconnected after all repeats of the DREQ", "[manager]") {
  Pair pair(lose("DREQ", 1'000));
  const Id id = pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kEstablished); });
  pair.client.cm.disconnect(pair.now, id);
  pair.settle();
  CHECK(pair.client.count(EventKind::kDisconnected) == 1);
  CHECK(pair.client.count(EventKind::kClosed) == 1);
  CHECK(std::ranges::count(pair.wire, "DREQ") == 16);
}

TEST_CASE("a REQ from a QP that is connected ends the stale connection", "[manager]") {
  Pair pair;
  pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kEstablished); });
  const Id old = pair.server.only(EventKind::kRequest).id;
  pair.connect();
  pair.run([&] { return pair.client.saw(EventKind::kRejected); });
  CHECK(pair.client.only(EventKind::kRejected).reason == Reason::kStale);
  CHECK(pair.server.cm.state(old) == State::kTimeWait);
  CHECK(pair.server.count(EventKind::kDisconnected) == 1);
}

TEST_CASE("more requests than connections are refused, and room comes back", "[manager]") {
  Manager cm({.gids = {kServerGid}, .seed = 1, .max_connections = 2});
  cm.listen(kService);
  const auto ask = [&](uint32_t id) {
    Req req;
    req.local_id = req.qpn = id;
    req.service_id = kService;
    req.ca_guid = 1;
    req.primary.remote_gid = kServerGid;
    cm.receive(0ns, {kServerGid, kClientGid}, encode({id, req}));
    return cm.take_outgoing().empty();
  };
  CHECK(ask(1));
  CHECK(ask(2));
  CHECK(!ask(3));
  cm.reject(0ns, cm.take_events()[0].id, Reason::kConsumer);
  cm.take_outgoing();
  CHECK(ask(4));
}

TEST_CASE("calls that do not fit the state throw and name both", "[manager]") {
  Pair pair;
  const Id id = pair.connect();
  CHECK_THROWS_AS(pair.client.cm.confirm(0ns, id), CmError);
  CHECK_THROWS_AS(pair.client.cm.disconnect(0ns, id + 1), CmError);
  CHECK_THROWS_WITH(pair.client.cm.disconnect(0ns, id), rnic::test::contains_text("disconnect"));
  CHECK_THROWS_WITH(pair.client.cm.disconnect(0ns, id), rnic::test::contains_text("REQ sent"));
}

TEST_CASE("random bytes never harm the manager", "[manager]") {
  Pair pair;
  pair.connect();
  pair.run([&] { return pair.server.saw(EventKind::kEstablished); });
  std::mt19937_64 random(1);
  const auto recorded = rnic::test::recorded_connection();
  for (int i = 0; i < 20'000; ++i) {
    Mad mad = recorded[random() % recorded.size()];
    for (int n = 0; n < 4; ++n) mad[random() % mad.size()] = static_cast<uint8_t>(random());
    pair.server.cm.receive(0ns, {kServerGid, kClientGid}, mad);
    for (const Event& e : pair.server.cm.take_events()) {
      if (e.kind == EventKind::kRequest) pair.server.cm.reject(0ns, e.id, Reason::kNoResources);
    }
    pair.server.cm.take_outgoing();
  }
  CHECK(pair.server.cm.state(pair.server.only(EventKind::kRequest).id) == State::kEstablished);
}

// --- before Linux's own datagrams

namespace {

template <class Body>
Body recorded(size_t index) {
  return std::get<Body>(decode(rnic::test::recorded_connection()[index]).message.body);
}
uint64_t recorded_transaction(size_t index) {
  return decode(rnic::test::recorded_connection()[index]).message.transaction;
}

}  // namespace

TEST_CASE("the first packet to a QP has the PSN that its REQ or REP named", "[manager]") {
  std::map<uint32_t, uint32_t> named = {{recorded<Req>(0).qpn, recorded<Req>(0).psn},
                                        {recorded<Rep>(1).qpn, recorded<Rep>(1).psn}};
  rnic::pcap::PcapReader file(std::string(RNIC_SOURCE_DIR) + "/tests/captures/rping_v4.pcap");
  rnic::pcap::PcapPacket packet;
  while (file.next(packet) && !named.empty()) {
    rnic::roce::FrameView frame;
    REQUIRE(rnic::roce::parse_frame(packet.bytes, frame) == rnic::roce::ParseStatus::kOk);
    const auto at = named.find(frame.dest_qp);
    if (at == named.end() || !frame.info().is_request) continue;
    CHECK(frame.psn == at->second);
    named.erase(at);
  }
  CHECK(named.empty());
}

TEST_CASE("the recorded client is answered as the recorded server answered it", "[manager]") {
  const auto mads = rnic::test::recorded_connection();
  Manager cm({.gids = {kServerGid}, .ca_guid = recorded<Rep>(1).ca_guid, .seed = 1});
  cm.listen(kService);
  const Ends ends{kServerGid, kClientGid};
  cm.receive(0ns, ends, mads[0]);
  const Id id = cm.take_events().at(0).id;
  cm.accept(0ns, id, Rep{.qpn = 0x1F, .psn = 0x0C'B5FE});

  Rep expected = recorded<Rep>(1);
  const uint32_t their_id = expected.local_id;
  expected.local_id = id;
  CHECK(cm.take_outgoing().at(0).mad == encode({recorded_transaction(1), expected}));

  const auto renamed = [&](Mad mad) {  // their messages name our id
    REQUIRE(rnic::roce::load_be32(mad.data() + 28) == their_id);
    rnic::roce::store_be32(mad.data() + 28, id);
    return mad;
  };
  cm.receive(0ns, ends, renamed(mads[2]));
  CHECK(cm.take_events().at(0).kind == EventKind::kEstablished);
  cm.receive(0ns, ends, renamed(mads[3]));
  CHECK(cm.take_events().at(0).kind == EventKind::kDisconnected);
  Drep drep = recorded<Drep>(4);
  drep.local_id = id;
  CHECK(cm.take_outgoing().at(0).mad == encode({recorded_transaction(4), drep}));
}

TEST_CASE("our client asks as the recorded client asked", "[manager]") {
  const auto mads = rnic::test::recorded_connection();
  const Req theirs = recorded<Req>(0);
  Manager cm({.gids = {kClientGid}, .ca_guid = theirs.ca_guid, .seed = 1});
  Req req;
  req.service_id = kService;
  req.qpn = 0x14;
  req.psn = 0x43'5BE7;
  req.primary.flow_label = theirs.primary.flow_label;
  req.primary.ack_timeout = 19;
  set_ip_header(req, {.source_port = 0xC25E, .source = kClientGid, .destination = kServerGid});
  const Ends ends{kClientGid, kServerGid};
  const Id id = cm.connect(0ns, ends, req);
  Mad sent = cm.take_outgoing().at(0).mad;
  Message expected = decode(mads[0]).message;
  expected.transaction = decode(sent).message.transaction;
  std::get<Req>(expected.body).local_id = id;
  CHECK(sent == encode(expected));

  Rep rep = recorded<Rep>(1);
  rep.remote_id = id;
  cm.receive(0ns, ends, encode({expected.transaction, rep}));
  CHECK(cm.take_events().at(0).kind == EventKind::kReply);
  cm.confirm(0ns, id);
  Rtu rtu = recorded<Rtu>(2);
  rtu.local_id = id;
  CHECK(cm.take_outgoing().at(0).mad == encode({expected.transaction, rtu}));
}

// --- services of UD

namespace {

const uint64_t kDatagrams = service_id(kUdpSpace, 18515);

// Two managers, the server's user answers a lookup; each datagram by its fate.
struct Lookup {
  explicit Lookup(Fate fate = [](const std::string&, unsigned) { return 1u; })
      : fate_(std::move(fate)) {
    server.listen(kDatagrams);
  }
  Manager client{{.gids = {kClientGid}, .seed = 1}}, server{{.gids = {kServerGid}, .seed = 2}};
  Time now{};
  std::vector<Event> found, asked;

  void ask(uint64_t service = kDatagrams) {
    SidrReq req;
    req.service_id = service;
    client.resolve(now, {kClientGid, kServerGid}, req);
  }

  void run() {
    for (int step = 0; step < 100; ++step) {
      while (carry(client, server) | carry(server, client)) take();
      take();
      const auto due = std::min(client.next_deadline().value_or(Time::max()),
                                server.next_deadline().value_or(Time::max()));
      if (due == Time::max()) return;
      now = due;
      client.advance(now);
      server.advance(now);
    }
    FAIL("the managers do not come to rest");
  }

 private:
  bool carry(Manager& from, Manager& to) {
    const auto all = from.take_outgoing();
    for (const Outgoing& o : all) {
      const std::string what = name(decode(o.mad).message);
      const unsigned copies = fate_(what, ++sent_[what]);
      for (unsigned i = 0; i < copies; ++i) to.receive(now, {o.ends.remote, o.ends.local}, o.mad);
    }
    return !all.empty();
  }
  void take() {
    for (Event& e : server.take_events()) {
      if (e.kind == EventKind::kLookup) {
        SidrRep rep;
        rep.qpn = 0x2A;
        rep.qkey = 0x0123'4567;
        server.answer(now, e.id, rep);
      }
      asked.push_back(std::move(e));
    }
    for (Event& e : client.take_events()) found.push_back(std::move(e));
  }
  Fate fate_;
  std::map<std::string, unsigned> sent_;
};

}  // namespace

TEST_CASE("the QP of a UD service is found, whatever is lost or repeated once", "[manager]") {
  const bool twice = GENERATE(false, true);
  const char* victim = GENERATE("", "SIDR_REQ", "SIDR_REP");
  INFO("lost " << victim << ", twice " << twice);
  Lookup pair([&](const std::string& n, unsigned nth) {
    return n == victim && nth == 1 ? 0u : twice ? 2u : 1u;
  });
  pair.ask();
  pair.run();
  REQUIRE(pair.found.size() == 1);
  CHECK(pair.found[0].kind == EventKind::kFound);
  CHECK(pair.found[0].sidr_rep.status == SidrStatus::kValid);
  CHECK(pair.found[0].sidr_rep.qpn == 0x2A);
  CHECK(pair.found[0].sidr_rep.qkey == 0x0123'4567);
  REQUIRE(pair.asked.size() == 1);
  CHECK(pair.asked[0].ends.remote == kClientGid);
  CHECK(!pair.server.next_deadline());  // nothing is kept
}

TEST_CASE("a UD service that nobody offers is refused, one that is silent is given up",
          "[manager]") {
  Lookup refused;
  refused.ask(kDatagrams + 1);
  refused.run();
  REQUIRE(refused.found.size() == 1);
  CHECK(refused.found[0].sidr_rep.status == SidrStatus::kUnsupported);
  CHECK(refused.asked.empty());

  Lookup silent([](const std::string&, unsigned) { return 0u; });
  silent.ask();
  silent.run();
  REQUIRE(silent.found.size() == 1);
  CHECK(silent.found[0].kind == EventKind::kUnanswered);
  CHECK(silent.client.counters().repeated == 15);
}

TEST_CASE("what a user leaves open is ended in the way that its state asks for", "[manager]") {
  SECTION("before an answer: the peer hears of a time-out") {
    Pair pair;
    pair.accept = false;
    pair.connect();
    pair.client.cm.abandon(pair.now);
    pair.run([&] { return pair.server.saw(EventKind::kRejected); });
    CHECK(pair.server.only(EventKind::kRejected).reason == Reason::kTimeout);
    CHECK(!pair.client.cm.next_deadline());
  }
  SECTION("before our answer: refused") {
    Pair pair;
    pair.accept = false;
    pair.connect();
    pair.run([&] { return pair.server.saw(EventKind::kRequest); });
    pair.server.cm.abandon(pair.now);
    pair.run([&] { return pair.client.saw(EventKind::kRejected); });
    CHECK(pair.client.only(EventKind::kRejected).reason == Reason::kConsumer);
  }
  SECTION("connected: DREQ") {
    Pair pair;
    pair.connect();
    pair.run([&] { return pair.server.saw(EventKind::kEstablished); });
    pair.server.cm.abandon(pair.now);
    pair.settle();
    CHECK(pair.client.count(EventKind::kDisconnected) == 1);
    CHECK(pair.server.count(EventKind::kClosed) == 1);
  }
}

TEST_CASE("Linux's service resolution is answered as Linux answered it", "[manager]") {
  const auto mads = rnic::test::recorded_lookup();
  REQUIRE(mads.size() == 2);
  const Message asked = decode(mads[0]).message, answered = decode(mads[1]).message;
  const auto& theirs = std::get<SidrReq>(asked.body);
  CHECK(theirs.service_id == kDatagrams);
  const auto header = ip_header(theirs);
  REQUIRE(header);
  CHECK(header->source == kClientGid);
  CHECK(header->destination == kServerGid);

  Manager server({.gids = {kServerGid}, .seed = 1});
  server.listen(kDatagrams);
  server.receive(0ns, {kServerGid, kClientGid}, mads[0]);
  const auto events = server.take_events();
  REQUIRE(events.size() == 1);
  SidrRep rep = std::get<SidrRep>(answered.body);
  CHECK(rep.status == SidrStatus::kValid);
  CHECK(rep.qkey == 0x0123'4567);
  rep.request_id = 0;
  server.answer(0ns, events[0].id, rep);
  CHECK(server.take_outgoing().at(0).mad == mads[1]);

  // Our client's question is theirs but for the ids.
  Manager client({.gids = {kClientGid}, .seed = 1});
  SidrReq req;
  req.service_id = kDatagrams;
  set_ip_header(req, *header);
  const Id id = client.resolve(0ns, {kClientGid, kServerGid}, req);
  const Mad sent = client.take_outgoing().at(0).mad;
  SidrReq expected = theirs;
  expected.request_id = id;
  CHECK(sent == encode({decode(sent).message.transaction, expected}));
}
