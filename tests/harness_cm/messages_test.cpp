// SPDX-License-Identifier: Apache-2.0
// The datagrams of a recorded Linux connection (rping over rdma_cm): each field as tshark shows it,
// and the same bytes back.
#include "harness/cm/messages.hpp"

#include <string>
#include <vector>

#include "harness/cm/ip_service.hpp"
#include "tests/harness_cm/recorded.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::cm;
using rnic::roce::ipv4_address;
using rnic::test::recorded_connection;

namespace {

template <class Body>
Body body_of(const Mad& mad) {
  const Decoded got = decode(mad);
  REQUIRE(got.status == DecodeStatus::kOk);
  REQUIRE(std::holds_alternative<Body>(got.message.body));
  return std::get<Body>(got.message.body);
}

const Gid kClient = ipv4_address(10, 77, 0, 1);
const Gid kServer = ipv4_address(10, 77, 0, 2);

// Every bit that a message has a field for.
template <class Body>
void check_every_bit_survives(const Body& body) {
  const Message message{0x1122'3344'5566'7788, body};
  const Mad mad = encode(message);
  const Decoded got = decode(mad);
  REQUIRE(got.status == DecodeStatus::kOk);
  CHECK(got.message.transaction == message.transaction);
  CHECK(encode(got.message) == mad);
}

}  // namespace

TEST_CASE("the recorded connection comes back byte for byte", "[messages]") {
  const auto mads = recorded_connection();
  REQUIRE(mads.size() == 5);
  std::string names;
  for (const Mad& mad : mads) {
    const Decoded got = decode(mad);
    REQUIRE(got.status == DecodeStatus::kOk);
    CHECK(encode(got.message) == mad);
    names += std::string(name(got.message)) + " ";
  }
  CHECK(names == "REQ REP RTU DREQ DREP ");
}

TEST_CASE("the fields of the recorded REQ are those that tshark shows", "[messages]") {
  const Req req = body_of<Req>(recorded_connection()[0]);
  CHECK(req.local_id == 0x3C51'C21E);
  CHECK(req.service_id == service_id(kTcpSpace, 7174));
  CHECK(req.ca_guid == 0x5054'00FF'FE77'0001);
  CHECK(req.qpn == 0x14);
  CHECK(req.psn == 0x43'5BE7);
  CHECK(req.responder_resources == 1);
  CHECK(req.initiator_depth == 1);
  CHECK(req.remote_response_timeout == 20);
  CHECK(req.local_response_timeout == 20);
  CHECK(req.transport == Transport::kRc);
  CHECK(req.retry_count == 7);
  CHECK(req.rnr_retry == 7);
  CHECK(req.max_retries == 15);
  CHECK(req.pkey == 0xFFFF);
  CHECK(req.mtu == 5);
  CHECK(!req.srq);
  CHECK(req.primary.local_lid == 0xFFFF);
  CHECK(req.primary.local_gid == kClient);
  CHECK(req.primary.remote_gid == kServer);
  CHECK(req.primary.hop_limit == 64);
  CHECK(req.primary.ack_timeout == 19);
  CHECK(req.alternate.local_lid == 0);
}

TEST_CASE("the flow label of the recorded REQ gives a UDP source port", "[messages]") {
  const Req req = body_of<Req>(recorded_connection()[0]);
  CHECK(req.primary.flow_label == 0x7'A568);
  CHECK(req.primary.rate == 0);
  CHECK(rnic::roce::udp_source_port(req.primary.flow_label, 0, 0) >= 0xC000);
}

TEST_CASE("the private data of the recorded REQ name both IP addresses", "[messages]") {
  Req req = body_of<Req>(recorded_connection()[0]);
  const auto header = ip_header(req);
  REQUIRE(header);
  CHECK(header->source_port == 0xC25E);
  CHECK(header->source == kClient);
  CHECK(header->destination == kServer);
  CHECK(user_data(req).size() == 56);

  const auto recorded = req.private_data;
  req.private_data = {};
  set_ip_header(req, *header);
  CHECK(req.private_data == recorded);
}

TEST_CASE("IPv6 ends of a service survive", "[messages]") {
  Req req;
  IpHeader header{.source_port = 9, .source = {0xFE, 0x80}, .destination = {0xFD, 0x77}};
  header.destination[15] = 2;
  set_ip_header(req, header);
  const auto got = ip_header(req);
  REQUIRE(got);
  CHECK(got->source == header.source);
  CHECK(got->destination == header.destination);
  req.private_data[1] = 0x50;
  CHECK(!ip_header(req));
}

TEST_CASE("the fields of the recorded REP, RTU, DREQ and DREP are those that tshark shows",
          "[messages]") {
  const auto mads = recorded_connection();
  const Rep rep = body_of<Rep>(mads[1]);
  CHECK(rep.local_id == 0x8D83'650E);
  CHECK(rep.remote_id == 0x3C51'C21E);
  CHECK(rep.qpn == 0x1F);
  CHECK(rep.psn == 0x0C'B5FE);
  CHECK(rep.responder_resources == 1);
  CHECK(rep.initiator_depth == 1);
  CHECK(rep.ack_delay == 15);
  CHECK(rep.rnr_retry == 7);
  CHECK(rep.ca_guid == 0x5054'00FF'FE77'0002);

  const Rtu rtu = body_of<Rtu>(mads[2]);
  CHECK(rtu.local_id == rep.remote_id);
  CHECK(rtu.remote_id == rep.local_id);

  const Dreq dreq = body_of<Dreq>(mads[3]);
  CHECK(dreq.remote_id == rep.local_id);
  CHECK(dreq.remote_qpn == rep.qpn);

  const Drep drep = body_of<Drep>(mads[4]);
  CHECK(drep.local_id == rep.local_id);
  CHECK(drep.remote_id == rep.remote_id);
}

TEST_CASE("every bit of a message that has a field survives", "[messages]") {
  Req req;
  req.local_id = 0xFFFF'FFFF;
  req.qkey = 0xA5A5'A5A5;
  req.qpn = req.psn = 0xFF'FFFF;
  req.responder_resources = req.initiator_depth = 0xFF;
  req.transport = Transport::kOther;
  req.flow_control = req.rdc_exists = req.srq = true;
  req.remote_response_timeout = req.local_response_timeout = 31;
  req.mtu = req.max_retries = 15;
  req.primary.flow_label = 0xF'FFFF;
  req.primary.rate = 63;
  req.primary.service_level = 15;
  req.primary.subnet_local = true;
  req.primary.ack_timeout = 31;
  req.alternate = req.primary;
  req.private_data.fill(0x5A);
  check_every_bit_survives(req);

  Rep rep{.local_id = 1, .remote_id = 2, .qkey = 3, .qpn = 4, .psn = 5};
  rep.failover = 3;
  rep.flow_control = rep.srq = true;
  check_every_bit_survives(rep);

  Rej rej{.local_id = 1, .remote_id = 2, .rejected = Answered::kRep, .reason = Reason::kStale};
  rej.info_length = 72;
  rej.info.fill(1);
  rej.private_data.fill(2);
  check_every_bit_survives(rej);

  check_every_bit_survives(Mra{.local_id = 1, .remote_id = 2, .service_timeout = 31});
  check_every_bit_survives(Rtu{.local_id = 1, .remote_id = 2});
  check_every_bit_survives(Dreq{.local_id = 1, .remote_id = 2, .remote_qpn = 0xFF'FFFF});
  check_every_bit_survives(Drep{.local_id = 1, .remote_id = 2});

  SidrReq lookup{.request_id = 0xFFFF'FFFF, .pkey = 0xA5A5, .service_id = ~uint64_t{0}};
  lookup.private_data.fill(0x5A);
  check_every_bit_survives(lookup);
  SidrRep found{.request_id = 1, .status = SidrStatus::kNoQp, .info_length = 72, .qpn = 0xFF'FFFF};
  found.service_id = ~uint64_t{0};
  found.qkey = 0xA5A5'A5A5;
  found.info.fill(1);
  found.private_data.fill(2);
  check_every_bit_survives(found);
}

TEST_CASE("what is no message of the connection manager is refused by name", "[messages]") {
  const Mad good = recorded_connection()[0];
  struct Case {
    size_t at;
    uint8_t value;
    DecodeStatus status;
  };
  const Case cases[] = {{0, 2, DecodeStatus::kBaseVersion},   {1, 3, DecodeStatus::kClass},
                        {2, 1, DecodeStatus::kClassVersion},  {3, 1, DecodeStatus::kMethod},
                        {17, 0x19, DecodeStatus::kAttribute}, {16, 1, DecodeStatus::kAttribute}};
  for (const Case& c : cases) {
    Mad bad = good;
    bad[c.at] = c.value;
    CHECK(decode(bad).status == c.status);
  }
  CHECK(decode(std::span(good).first(255)).status == DecodeStatus::kLength);
  CHECK(decode({}).status == DecodeStatus::kLength);
}
