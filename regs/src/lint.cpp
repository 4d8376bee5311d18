// SPDX-License-Identifier: Apache-2.0
#include "lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "suggest.hpp"

namespace rnic::regs {
namespace {

constexpr std::uint64_t kPage = 4096;  // bytes that a process can be given of a BAR

enum class Mapping { kUncached, kPrefetchable, kWriteCombining };

class BlockLint {
 public:
  // `user`: the names in this block that processes reach; "" is all of it.
  BlockLint(const Block& b, Mapping mapping, const std::set<std::string>& user,
            const Diagnostics& diags, Warnings& warnings)
      : b_(b), mapping_(mapping), user_(user), diags_(diags), warnings_(warnings) {}

  void run() {
    if (!user_.empty()) pages();
    repeated_pages();
    for (const auto& r : b_.registers) {
      if (r.irq_role != IrqRole::kNone && r.irq_role != IrqRole::kState) continue;
      reads(r);
      combined_writes(r);
      mixed(r);
    }
    pairs();
  }

 private:
  void warn(SourcePos pos, const char* rule, std::string text) {
    warnings_.add(pos, rule, std::move(text));
  }

  // A page that is mapped into a process shows it everything in it.
  struct Dweller {
    const std::string* name;
    SourcePos pos;
  };
  void pages() {
    std::map<std::uint64_t, std::pair<std::optional<Dweller>, std::optional<Dweller>>> pages;
    const auto add = [&](const std::string& name, SourcePos pos, bool user, std::uint64_t from,
                         std::uint64_t bytes) {
      for (auto p = from / kPage; p <= (from + bytes - 1) / kPage; ++p) {
        auto& slot = user ? pages[p].first : pages[p].second;
        if (!slot) slot = Dweller{&name, pos};
      }
    };
    for (const auto& r : b_.registers) {
      for (std::uint64_t i = 0; i < r.count_max; ++i) {
        const auto at = r.count_max == r.count ? r.element_offset(i) : r.offset + i * r.stride;
        add(r.name, r.pos, is_user(r), at, r.width / 8);
      }
    }
    for (const auto& w : b_.windows) {
      add(w.name, w.pos, has(w.name), w.offset, w.size);
    }
    for (const auto& [page, who] : pages) {
      if (!who.first || !who.second) continue;
      warn(who.first->pos, "page-privilege",
           fmt::format("{}, which processes reach, is in the page of {} bytes at {:#x} with {}, "
                       "which the kernel keeps ({}): move one of them",
                       *who.first->name, kPage, page * kPage, *who.second->name,
                       diags_.line_of(who.second->pos, who.first->pos)));
    }
  }

  [[nodiscard]] bool has(const std::string& name) const {
    return user_.count("") != 0 || user_.count(name) != 0;
  }
  [[nodiscard]] bool is_user(const Register& r) const {
    if (has(r.name)) return true;
    for (auto at = r.file; at; at = b_.files[*at].parent) {
      if (has(b_.files[*at].name)) return true;
    }
    return false;
  }

  // Of blocks and arrays whose elements go to different processes.
  void repeated_pages() {
    if (b_.stride != 0 && b_.stride < kPage && !user_.empty()) {
      warn(b_.at("stride"), "page-privilege",
           fmt::format("blocks {} of two processes share a page: with a stride of {:#x} they reach "
                       "each other's; write at least {:#x}",
                       b_.name, b_.stride, kPage));
    }
    for (const auto& f : b_.files) shared(f);
  }

  void shared(const RegFile& f) {
    if (!f.is_array || f.stride >= kPage || f.count < 2) return;
    const auto index = static_cast<std::size_t>(&f - b_.files.data());
    const bool user = std::any_of(b_.registers.begin(), b_.registers.end(),
                                  [&](const Register& r) { return r.file == index && is_user(r); });
    if (!user) return;
    warn(f.at("stride"), "page-privilege",
         fmt::format("elements of {} for two processes share a page: with a stride of {:#x} they "
                     "reach each other's; write at least {:#x}",
                     f.name, f.stride, kPage));
  }

  // The host, a bridge or a speculating processor may read what nobody asked for.
  void reads(const Register& r) {
    if (mapping_ == Mapping::kUncached) return;
    for (const auto& f : r.fields) {
      const bool effect = access_info(f.access).on_read != OnRead::kNone || f.hw.rd_pulse;
      if (!effect) continue;
      warn(f.at("access"), "read-side-effect",
           fmt::format("a read of {}.{} has an effect, and block {} is {}: it may be read when "
                       "nobody asks; take another access, or map it uncached",
                       r.name, f.name, b_.name, word(mapping_)));
    }
  }

  // Writes wait, merge and overtake each other in a write-combining buffer.
  void combined_writes(const Register& r) {
    if (mapping_ != Mapping::kWriteCombining) return;
    for (const auto& f : r.fields) {
      const auto op = access_info(f.access).on_write;
      const bool counts = f.access == Access::kWt || f.access == Access::kRwOnce || f.hw.wr_pulse ||
                          op == OnWrite::kPulse || op == OnWrite::kOneToggle ||
                          op == OnWrite::kZeroToggle;
      if (!counts) continue;
      warn(f.at("access"), "combined-write",
           fmt::format(
               "every write of {}.{} counts, and block {} is write_combining: two may become "
               "one; make it a value that only grows, or map it uncached",
               r.name, f.name, b_.name));
      break;
    }
    if (r.width == 64 && r.buffered && !r.external && r.writable()) {
      warn(r.pos, "combined-write",
           fmt::format(
               "{} commits with its high word, and block {} is write_combining: its words may "
               "arrive in either order; take buffered: false, or map it uncached",
               r.name, b_.name));
    }
  }

  // Bits that a write-back of what was read would change, beside bits that must be written.
  void mixed(const Register& r) {
    for (const auto& bad : r.fields) {
      if (!echo_hurts(bad)) continue;
      const auto good = std::find_if(r.fields.begin(), r.fields.end(), [&](const Field& f) {
        return access_info(f.access).on_write == OnWrite::kStore && f.access != Access::kWt &&
               !(f.lsb / 8 > bad.msb() / 8 || bad.lsb / 8 > f.msb() / 8);
      });
      if (good == r.fields.end()) continue;
      warn(bad.at("bits"), "mixed-write",
           fmt::format(
               "{}.{} ({}) shares a byte with {} ({}): to write one a driver must know what to "
               "write to the other; move it to another byte or register",
               r.name, bad.name, access_name(bad.access), good->name, access_name(good->access)));
      return;
    }
  }

  // Writing back what it reads is not harmless.
  static bool echo_hurts(const Field& f) {
    switch (access_info(f.access).on_write) {
      case OnWrite::kOneClear:
      case OnWrite::kOneToggle:
      case OnWrite::kZeroSet:
      case OnWrite::kZeroToggle:
      case OnWrite::kClear:
      case OnWrite::kSet:
        return true;
      default:
        return false;
    }
  }

  // X_LO and X_HI: two halves that no access reads or writes as one.
  void pairs() {
    std::unordered_map<std::string_view, const Register*> names;
    for (const auto& r : b_.registers) names.insert({r.name, &r});
    for (const auto& lo : b_.registers) {
      for (const auto& [low, high] : {std::pair{"_LO", "_HI"}, {"_LOW", "_HIGH"}}) {
        const std::string_view tail = low;
        if (lo.name.size() <= tail.size() || !lo.name.ends_with(tail)) continue;
        const auto stem = lo.name.substr(0, lo.name.size() - tail.size());
        const auto it = names.find(stem + high);
        if (it == names.end() || lo.width != 32 || it->second->width != 32) continue;
        warn(lo.pos, "split-value",
             fmt::format(
                 "{} and {} ({}) are one value in two registers: it can be read or written in "
                 "halves; write {} with width: 64, at a multiple of 8",
                 lo.name, it->second->name, diags_.line_of(it->second->pos, lo.pos), stem));
      }
    }
  }

  static std::string_view word(Mapping m) {
    return m == Mapping::kPrefetchable ? "prefetchable" : "write_combining";
  }

  const Block& b_;
  Mapping mapping_;
  const std::set<std::string>& user_;
  const Diagnostics& diags_;
  Warnings& warnings_;
};

const Block* block_of(const Map& map, const std::string& name, const char* option,
                      Diagnostics& diags) {
  const auto* b = find_block(map, name);
  if (b == nullptr) {
    diags.error({}, "option",
                fmt::format("{} {}: no block '{}'{}", option, name, name,
                            suggest(name, names_of(map.blocks))));
  }
  return b;
}

// "block" or "block.NAME".
void add_user(const Map& map, const std::string& entry, Diagnostics& diags,
              std::map<const Block*, std::set<std::string>>& users) {
  const auto dot = entry.find('.');
  const auto* b = block_of(map, entry.substr(0, dot), "--user", diags);
  if (b == nullptr) return;
  const auto name = dot == std::string::npos ? std::string() : entry.substr(dot + 1);
  auto known = names_of(b->registers);
  for (auto& n : names_of(b->windows)) known.push_back(n);
  for (auto& n : names_of(b->files)) known.push_back(n);
  if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
    diags.error({}, "option",
                fmt::format("--user {}: no '{}' in block {}{}", entry, name, b->name,
                            suggest(name, known)));
    return;
  }
  users[b].insert(name);
}

}  // namespace

void lint_map(const Map& map, const LintOptions& options, Diagnostics& diags, Warnings& warnings) {
  std::map<const Block*, Mapping> mappings;
  std::map<const Block*, std::set<std::string>> users;
  for (const auto& n : options.prefetchable) {
    mappings[block_of(map, n, "--prefetchable", diags)] = Mapping::kPrefetchable;
  }
  for (const auto& n : options.write_combining) {
    mappings[block_of(map, n, "--write-combining", diags)] = Mapping::kWriteCombining;
  }
  for (const auto& n : options.user) add_user(map, n, diags, users);
  for (const auto& b : map.blocks) {
    const auto it = mappings.find(&b);
    BlockLint(b, it == mappings.end() ? Mapping::kUncached : it->second, users[&b], diags, warnings)
        .run();
  }
}

}  // namespace rnic::regs
