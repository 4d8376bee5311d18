// SPDX-License-Identifier: Apache-2.0
//
// Locks: "REGISTER.field" to the bit, first in the same register file, then in the block.
#include <fmt/format.h>

#include <unordered_map>

#include "check.hpp"
#include "suggest.hpp"

namespace rnic::regs {
namespace {

class LockLinks {
 public:
  LockLinks(Block& b, Diagnostics& diags) : b_(b), diags_(diags) {
    for (std::size_t i = 0; i < b.registers.size(); ++i) index_.insert({b.registers[i].name, i});
  }

  void link(const Register& r, Lock& lock, SourcePos pos) {
    const auto dot = lock.by.find('.');
    const auto reg_name = lock.by.substr(0, dot);
    const auto field_name = dot == std::string::npos ? "" : lock.by.substr(dot + 1);
    auto it = index_.end();
    if (r.file) it = index_.find(b_.files[*r.file].name + "_" + reg_name);
    if (it == index_.end()) it = index_.find(reg_name);
    if (it == index_.end() || field_name.empty()) {
      refuse(pos, fmt::format("'{}' is no lock: write REGISTER.field{}", lock.by,
                              it == index_.end() ? suggest(reg_name, names_of(b_.registers)) : ""));
      return;
    }
    const auto& by = b_.registers[it->second];
    const auto f = std::find_if(by.fields.begin(), by.fields.end(),
                                [&](const Field& x) { return x.name == field_name; });
    if (f == by.fields.end()) {
      refuse(pos, fmt::format("{} has no field '{}'{}", by.name, field_name,
                              suggest(field_name, names_of(by.fields))));
      return;
    }
    if (f->width != 1 || !f->stored() || by.external) {
      refuse(pos, fmt::format("{} must be one stored bit", lock.by));
      return;
    }
    if (by.count != 1 && by.count != r.count) {
      refuse(pos, fmt::format("{} has {} elements and {} has {}: one bit for all, or one each",
                              by.name, by.count, r.name, r.count));
      return;
    }
    lock.reg = it->second;
    lock.field = static_cast<std::size_t>(f - by.fields.begin());
    lock.same_element = by.count != 1;
  }

 private:
  void refuse(SourcePos pos, const std::string& why) { diags_.error(pos, "lock", why); }

  Block& b_;
  Diagnostics& diags_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

void resolve_locks(Block& b, Diagnostics& diags) {
  LockLinks links(b, diags);
  for (auto& r : b.registers) {
    const auto key = [](const Lock& l) { return l.when ? "locked_by" : "enabled_by"; };
    if (r.lock) {
      if (r.external) {
        diags.error(r.at(key(*r.lock)), "lock",
                    fmt::format("{} is external: what answers it must lock it", r.name));
        continue;
      }
      links.link(r, *r.lock, r.at(key(*r.lock)));
    }
    for (auto& f : r.fields) {
      if (f.lock) {
        links.link(r, *f.lock, f.at(key(*f.lock)));
      } else if (r.lock && f.writable()) {
        f.lock = r.lock;
      }
    }
  }
}

}  // namespace rnic::regs
