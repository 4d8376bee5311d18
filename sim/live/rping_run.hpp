// SPDX-License-Identifier: Apache-2.0
// One side of rping: the server READs each ping and WRITEs it back, the client compares.
//
//   RpingRun run(party, tools::parse_command("rping -s -C 5"), print);
//   scheduler.spawn(run.run());
#pragma once

#include "harness/tools/rping.hpp"
#include "sim/live/cm_connect.hpp"

namespace rnic::sim {

class RpingRun final : public Program {
 public:
  RpingRun(Party party, tools::Options options, std::function<void(const std::string&)> print);

  tools::Task<void> run() override;
  const ToolResult& result() const override { return result_; }
  const std::vector<Queue*>& queues() const override { return queues_; }

 private:
  using Bytes = std::vector<uint8_t>;

  void make_queue();
  tools::Task<void> client();
  tools::Task<void> server();
  tools::Task<void> client_ping(uint64_t n);
  tools::Task<void> server_ping(uint64_t n);
  void note_connection();
  void post_receives();
  void post(uint8_t opcode, const Buffer& local, uint64_t offset, uint32_t bytes,
            const tools::RpingInfo& remote);
  void send(const tools::RpingInfo& info);
  tools::Task<void> wait_completed();
  // Empty when the other side has ended the connection.
  tools::Task<std::optional<tools::RpingInfo>> wait_message();
  void check_size(const tools::RpingInfo& info) const;
  void print_data(const char* head, const Buffer& m, uint32_t size) const;

  Party party_;
  tools::Options options_;
  std::function<void(const std::string&)> print_;
  ToolResult result_;
  std::vector<Queue*> queues_;
  Queue* q_ = nullptr;
  // Infos out and in; the ping and its echo (client), what was read (server: `ping_`).
  Buffer *sends_ = nullptr, *receives_ = nullptr, *ping_ = nullptr, *echo_ = nullptr;
  uint64_t next_receive_ = 0;
  CmPort::Ref connection_;
};

}  // namespace rnic::sim
