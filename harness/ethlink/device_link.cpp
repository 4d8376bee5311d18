// SPDX-License-Identifier: Apache-2.0
// Network devices of Linux: TAP, and any interface through AF_PACKET.
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/ethlink/links.hpp"

namespace rnic::ethlink {
namespace {

ifreq request_of(const std::string& name) {
  ifreq r{};
  std::copy_n(name.begin(), std::min(name.size(), size_t{IFNAMSIZ - 1}), r.ifr_name);
  return r;
}

bool later(int error) { return error == EAGAIN || error == ENOBUFS || error == EINTR; }

class TapLink final : public EthLink {
 public:
  explicit TapLink(Fd tap) : tap_(std::move(tap)), buffer_(kMaxFrame + 1) {}
  int fd() const override { return lost_ ? -1 : tap_.get(); }
  bool up() const override { return !lost_; }
  bool lost() const override { return lost_; }
  bool receive(std::vector<uint8_t>& frame) override {
    const ssize_t n = ::read(tap_.get(), buffer_.data(), buffer_.size());
    if (n < 0 && errno == EBADFD) lost_ = true;  // the interface was deleted
    if (n <= 0) return false;
    ++stats_.received;
    frame.assign(buffer_.begin(), buffer_.begin() + n);
    return true;
  }

 private:
  Sent try_send(std::span<const uint8_t> frame) override {
    if (::write(tap_.get(), frame.data(), frame.size()) >= 0) return Sent::kYes;
    return later(errno) ? Sent::kNotNow : Sent::kNobody;  // EIO: the interface is down
  }
  Fd tap_;
  bool lost_ = false;
  std::vector<uint8_t> buffer_;
};

class PacketLink final : public EthLink {
 public:
  PacketLink(Fd socket, unsigned index)
      : socket_(std::move(socket)), index_(index), buffer_(kMaxFrame + 1) {}
  int fd() const override { return lost_ ? -1 : socket_.get(); }
  bool up() const override { return !lost_; }
  bool lost() const override { return lost_; }
  bool receive(std::vector<uint8_t>& frame) override {
    for (;;) {
      sockaddr_ll from{};
      socklen_t length = sizeof from;
      const ssize_t n = ::recvfrom(socket_.get(), buffer_.data(), buffer_.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
      if (n < 0 && errno == ENETDOWN) look();
      if (n <= 0) return false;
      if (from.sll_pkttype == PACKET_OUTGOING) continue;  // what this machine sends, we too
      ++stats_.received;
      frame.assign(buffer_.begin(), buffer_.begin() + n);
      return true;
    }
  }

 private:
  Sent try_send(std::span<const uint8_t> frame) override {
    if (::send(socket_.get(), frame.data(), frame.size(), 0) >= 0) return Sent::kYes;
    if (errno == EMSGSIZE) ++stats_.oversize;
    return later(errno) ? Sent::kNotNow : Sent::kNobody;
  }
  // An interface that is down may come back, one that was deleted not.
  void look() {
    char name[IF_NAMESIZE];
    lost_ = ::if_indextoname(index_, name) == nullptr;
  }
  Fd socket_;
  unsigned index_;
  bool lost_ = false;
  std::vector<uint8_t> buffer_;
};

}  // namespace

std::unique_ptr<EthLink> open_tap(const std::string& name) {
  Fd tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap) fail_errno("/dev/net/tun");
  ifreq r = request_of(name);
  r.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(tap.get(), TUNSETIFF, &r) < 0) fail_errno("TUNSETIFF");
  return std::make_unique<TapLink>(std::move(tap));
}

std::unique_ptr<EthLink> open_packet(const std::string& name) {
  Fd s(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  if (!s) fail_errno("socket");
  const unsigned index = ::if_nametoindex(name.c_str());
  if (index == 0) fail_errno("interface");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index);
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    fail_errno("bind");
  // Frames for another address come too: the NIC's is not the interface's.
  packet_mreq all{};
  all.mr_ifindex = static_cast<int>(index);
  all.mr_type = PACKET_MR_PROMISC;
  if (::setsockopt(s.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0)
    fail_errno("promiscuous mode");
  return std::make_unique<PacketLink>(std::move(s), index);
}

}  // namespace rnic::ethlink
