// SPDX-License-Identifier: Apache-2.0
//
// Writes the AXI4-Lite register file of one block (not part of the public interface). One access at
// a time: an address and its data are taken into holding registers, decoded in the next cycle,
// answered in the one after (one later when pipelined). Everything that depends on an access is
// inside an `if`, so that an idle register file costs a simulator next to nothing.
//
// Internal names: reg_<field>_q what is stored, nxt_<field> its next value where hardware or reads
// change it, wsel_/rsel_<register> one bit an element while a write or read of it executes, snap_
// and stage_ the other half of 64-bit accesses.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "outputs.hpp"
#include "ports.hpp"
#include "text.hpp"

namespace rnic::regs {

class SvBlock : private Lines {
 public:
  SvBlock(const Map& map, const Block& block);
  std::string run();

 private:
  // One 32-bit word of the map: what reads it and what writes it (not the same beside RO and WO).
  struct Part {
    const Register* reg = nullptr;
    std::uint64_t elem = 0;
    unsigned word = 0;  // 1: the high word of a 64-bit register
  };
  struct Word {
    Part read, write;
    int remote = -1;  // an external register
  };
  using Words = std::map<std::uint64_t, Word>;  // by word address

  // out_sv_block.cpp: head, ports, tail
  void header();
  void parameters();
  void ports();
  void parameter_checks();
  void port(const Port& p);
  void outputs();
  void assertions();

  // sv_block_bus.cpp
  void bus_declarations();
  void handshake();
  void bad_access();
  void channels();
  void channels_reset();
  void capture();

  // sv_block_decode.cpp: what an address selects and what a read shows
  void decode_declarations();
  void decode();
  void decode_windows(const char* indent);
  void decode_group(Words::const_iterator from, Words::const_iterator to, const std::string& tail);
  void decode_word(std::uint64_t address, const Word& w);
  void decode_param_arrays(const std::string& tail, bool values, bool selects);
  void select_remote();
  std::string read_word(const Register& r, const std::string& i, std::uint64_t elem,
                        unsigned w) const;
  std::string read_piece(const Register& r, const Field& f, const std::string& i,
                         std::uint64_t elem, unsigned lo, unsigned hi) const;

  // sv_block_write.cpp: fields that only software changes, and those that hardware only sets
  void storage_declarations();
  void staging();
  void writes();
  void write_reset();
  void write_case(std::uint64_t address, const Part& p);
  void write_part(const Register& r, const std::string& i, std::uint64_t elem, unsigned word,
                  const std::string& pad);
  void write_field(const Register& r, const Field& f, const std::string& i, std::uint64_t elem,
                   unsigned word, const std::string& pad);
  void snapshots();

  // sv_block_field.cpp: fields that hardware or reads change
  void next_values();
  void next_value(const Register& r, const Field& f);
  void hardware_part(const Register& r, const Field& f, const std::string& pad);
  void count_part(const Register& r, const Field& f, const std::string& pad);
  void software_part(const Register& r, const Field& f, const std::string& pad);

  // sv_block_irq.cpp
  void irq_declarations();
  void interrupts();
  std::string irq_event(const Register& state, const Field& f) const;

  // shared questions
  [[nodiscard]] bool skip(const Register& r) const { return r.external || is_capture(b_, r); }
  // Its next value is computed apart.
  static bool apart(const Field& f);
  static bool is_event(const Field& f);  // w1c with set, alone: the commonest
  [[nodiscard]] bool stores(const Register& r, const Field& f) const;
  [[nodiscard]] bool needs_wsel(const Register& r, int half = -1) const;
  [[nodiscard]] bool needs_rsel(const Register& r, int half = -1) const;
  static bool has_wt(const Register& r);
  static bool in_half(const Register& r, const Field& f, int half) {
    return half < 0 || !halves(r) || (half == 0) == (f.lsb < 32);
  }
  // The selects of a register that are needed: "_lo", "_hi", or "".
  void each_select(const Register& r, const std::string& before, const std::string& after);
  // "N_CH" or "4".
  [[nodiscard]] static std::string count_text(const Register& r);
  [[nodiscard]] static std::string vector_of(const Register& r, std::uint64_t width);
  // Element i, all its bits or hi..lo, of the vector `sig` that holds all elements.
  static std::string element(const Register& r, std::uint64_t width, const std::string& sig,
                             const std::string& i, std::uint64_t elem);
  static std::string slice(const Register& r, std::uint64_t width, const std::string& sig,
                           const std::string& i, std::uint64_t elem, unsigned lo, unsigned hi);
  static std::string bit(const Register& r, const std::string& sig, const std::string& i);
  [[nodiscard]] std::string reset_literal(const Field& f) const;
  [[nodiscard]] std::string word_literal(std::uint64_t byte_offset) const;
  [[nodiscard]] std::string unlocked(const Field& f, const std::string& i) const;  // or empty
  static std::string after_write(OnWrite op, const std::string& q, const std::string& d,
                                 const std::string& m);

  const Map& map_;
  const Block& b_;
  unsigned addr_w_;
  unsigned word_w_;
  std::vector<Port> ports_;
  std::vector<Remote> remotes_;
  Words words_;
  std::vector<const Register*> param_arrays_;
  bool any_stored_ = false;
  bool any_staged_ = false;
  bool any_buffered_ = false;
  unsigned n_groups_ = 0;  // of the pipelined read
};

}  // namespace rnic::regs
