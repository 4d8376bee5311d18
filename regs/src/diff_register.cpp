// SPDX-License-Identifier: Apache-2.0
//
// Registers and their fields.
#include <tuple>

#include "diff_state.hpp"

namespace rnic::regs {
namespace {

std::string bits(const Field& f) {
  return f.width == 1 ? fmt::format("[{}]", f.lsb) : fmt::format("[{}:{}]", f.msb(), f.lsb);
}

std::string lock_text(const std::optional<Lock>& lock) {
  if (!lock) return "no lock";
  return fmt::format("{} {}", lock->when ? "locked_by" : "enabled_by", lock->by);
}

// Software that knows nothing of the field writes 0 to it: that changes something.
bool zero_acts(const Field& f) {
  switch (access_info(f.access).on_write) {
    case OnWrite::kNone:
    case OnWrite::kOneClear:
    case OnWrite::kOneSet:
    case OnWrite::kOneToggle:
    case OnWrite::kPulse:
      return false;
    case OnWrite::kStore:
      return f.reset != 0 || f.hw_changes() || f.hw.inout || f.access == Access::kWt ||
             f.access == Access::kRwOnce;
    default:
      return true;
  }
}

// A constant that is a part of the version, in both maps.
bool shows_version(const DiffState& d, const Field& o, const Field& n) {
  const auto is = [&](unsigned a, unsigned b) { return o.reset == a && n.reset == b && a != b; };
  return o.is_const && n.is_const &&
         (is(d.before.major, d.after.major) || is(d.before.minor, d.after.minor) ||
          is(d.before.patch, d.after.patch));
}

class RegisterDiff {
 public:
  RegisterDiff(DiffState& d, const Register& o, const Register& n, std::string what)
      : d_(d), o_(o), n_(n), what_(std::move(what)) {}

  void run() {
    place();
    if (o_.width != n_.width) {
      d_.here("register-width", n_.at("width"), "{}: {} bits became {}", what_, o_.width, n_.width);
    }
    if (o_.width == 64 && n_.width == 64 && o_.buffered != n_.buffered) {
      d_.here(
          "register-buffered", n_.at("buffered"), "{}: {}", what_,
          n_.buffered ? "one value with snapshot and commit now" : "two words on their own now");
    }
    if (o_.external != n_.external) {
      d_.here("register-external", n_.at("external"), "{} is {} now", what_,
              n_.external ? "external" : "in the register file");
    }
    if (n_.irq_role == IrqRole::kNone || n_.irq_role == IrqRole::kState) {
      d_.text(o_.desc, n_.desc, n_.pos, what_);
    }
    fields();
  }

 private:
  static std::vector<std::uint64_t> strides(const Register& r) {
    std::vector<std::uint64_t> list;
    for (const auto& dim : r.dims) list.push_back(dim.stride);
    return list;
  }

  void place() {
    if (o_.offset != n_.offset) {
      d_.here("register-moved", n_.at("offset"), "{}: offset {:#x} became {:#x}", what_, o_.offset,
              n_.offset);
    }
    if (o_.is_array != n_.is_array) {
      d_.here("register-shorter", n_.at("count"), "{}: {} became {}", what_,
              o_.is_array ? "an array" : "one register", n_.is_array ? "an array" : "one register");
      return;
    }
    // The outermost dimension may grow; another inner one moves elements.
    bool inner = o_.dims.size() != n_.dims.size();
    for (std::size_t i = 1; !inner && i < o_.dims.size(); ++i) {
      inner = o_.dims[i].count != n_.dims[i].count;
    }
    if (inner || strides(o_) != strides(n_)) {
      d_.here("register-stride", n_.at("stride"), "{}: elements stand elsewhere", what_);
    } else if (o_.count != n_.count) {
      d_.here(n_.count > o_.count ? "register-longer" : "register-shorter", n_.at("count"),
              "{}: {} elements became {}", what_, o_.count, n_.count);
    }
  }

  void fields() {
    std::vector<const Field*> added, removed;
    match(
        o_.fields, n_.fields, [&](const Field& o, const Field& n) { field(o, n); },
        [&](const Field& n) { added.push_back(&n); },
        [&](const Field& o) { removed.push_back(&o); });
    match_renamed(
        removed, added,
        [](const Field& o, const Field& n) { return o.lsb == n.lsb && o.width == n.width; },
        [&](const Field& o, const Field& n) {
          d_.here("field-renamed", n.pos, "{}.{} became {}", what_, o.name, n.name);
          field(o, n);
        });
    for (const auto* n : added) {
      d_.here(zero_acts(*n) ? "field-added-acts" : "field-added", n->pos, "{}.{} {} is new", what_,
              n->name, bits(*n));
    }
    for (const auto* o : removed) {
      d_.gone("field-removed", o->pos, "{}.{} {} is gone", what_, o->name, bits(*o));
    }
  }

  void field(const Field& o, const Field& n) {
    const auto what = what_ + "." + n.name;
    if (o.lsb != n.lsb || o.width != n.width) {
      d_.here("field-bits", n.at("bits"), "{}: {} became {}", what, bits(o), bits(n));
    }
    if (o.access != n.access) {
      d_.here("field-access", n.at("access"), "{}: {} became {}", what, access_name(o.access),
              access_name(n.access));
    }
    field_value(o, n, what);
    if (!o.is_const && !n.is_const && hw_text(o.hw) != hw_text(n.hw)) {
      d_.here("field-hw", n.at("hw"), "{}: hw {} became {}", what, hw_text(o.hw), hw_text(n.hw));
    }
    if (o.collision != n.collision) {
      d_.here("field-collision", n.at("collision"), "{}: {} is on top now", what,
              n.collision == Collision::kSoftware ? "software" : "hardware");
    }
    field_counter(o, n, what);
    if (lock_text(o.lock) != lock_text(n.lock)) {
      d_.here("field-lock", n.gave("locked_by") ? n.at("locked_by") : n.at("enabled_by"),
              "{}: {} became {}", what, lock_text(o.lock), lock_text(n.lock));
    }
    diff_meaning(d_, what, o.unit, n.unit, o.enum_name, n.enum_name, n);
    if (n_.irq_role == IrqRole::kNone || n_.irq_role == IrqRole::kState) {
      d_.text(o.desc, n.desc, n.pos, what);
    }
  }

  void field_value(const Field& o, const Field& n, const std::string& what) {
    const auto at = n.at(n.is_const ? "const" : "reset");
    if (o.is_const != n.is_const || o.is_map_hash != n.is_map_hash) {
      d_.here("field-constant", at, "{} is {} now", what,
              n.is_map_hash ? "the map hash"
              : n.is_const  ? "a constant"
                            : "no such constant");
    } else if (o.reset != n.reset && !n.is_map_hash) {
      d_.here(shows_version(d_, o, n) ? "field-version" : "field-reset", at,
              "{}: {} {:#x} became {:#x}", what, n.is_const ? "constant" : "reset", o.reset,
              n.reset);
    }
  }

  void field_counter(const Field& o, const Field& n, const std::string& what) {
    if (o.counter.has_value() != n.counter.has_value()) {
      d_.here("field-counter", n.at("counter"), "{} {}", what,
              n.counter ? "counts now" : "no longer counts");
      return;
    }
    if (!n.counter) return;
    const auto& a = *o.counter;
    const auto& b = *n.counter;
    if (a.saturate != b.saturate || (b.saturate && a.max != b.max)) {
      d_.here("field-counter", n.at("saturate"), "{}: {}", what,
              b.saturate ? fmt::format("saturates at {:#x} now", b.max) : "wraps now");
    }
    if (std::tie(a.incr_width, a.decr_width, a.threshold) !=
        std::tie(b.incr_width, b.decr_width, b.threshold)) {
      d_.here("field-counter-ports", n.at("counter"), "{}: steps or threshold are different", what);
    }
  }

  DiffState& d_;
  const Register& o_;
  const Register& n_;
  std::string what_;
};

}  // namespace

void diff_registers(DiffState& d, const Block& o, const Block& n) {
  const auto name = [&](const Register& r) { return fmt::format("{}.{}", n.name, r.name); };
  std::vector<const Register*> added, removed;
  match(
      o.registers, n.registers,
      [&](const Register& a, const Register& b) { RegisterDiff(d, a, b, name(b)).run(); },
      [&](const Register& b) { added.push_back(&b); },
      [&](const Register& a) { removed.push_back(&a); });
  match_renamed(
      removed, added,
      [](const Register& a, const Register& b) {
        return a.offset == b.offset && a.width == b.width && a.count == b.count;
      },
      [&](const Register& a, const Register& b) {
        d.here("register-renamed", b.pos, "{} became {}", name(a), b.name);
        RegisterDiff(d, a, b, name(b)).run();
      });
  for (const auto* b : added) {
    d.here("register-added", b->pos, "{} at {:#x} is new", name(*b), b->offset);
  }
  for (const auto* a : removed) {
    d.gone("register-removed", a->pos, "{} at {:#x} is gone", name(*a), a->offset);
  }
}

}  // namespace rnic::regs
