// SPDX-License-Identifier: Apache-2.0
#include "c_struct.hpp"

#include <algorithm>

#include "text.hpp"

namespace rnic::regs {
namespace {

struct Member {
  std::string type, name;
  unsigned at, bytes;
  bool array;
};

class CStruct : private Lines {
 public:
  CStruct(const Map& map, const Descriptor& d) : lo_(map.name), up_(to_upper(map.name)), d_(d) {}

  std::string run() {
    one(d_.name, d_.fields);
    for (const auto& u : d_.unions) {
      for (const auto& v : u.variants) {
        auto all = d_.fields;
        all.insert(all.end(), v.fields.begin(), v.fields.end());
        std::stable_sort(all.begin(), all.end(),
                         [](const DescField& a, const DescField& b) { return a.bit < b.bit; });
        one(d_.name + "_" + v.name, all);
      }
    }
    return take();
  }

 private:
  // Fields that share bytes become one member, named after the first and the last.
  std::vector<Member> members(const std::vector<DescField>& fields) const {
    std::vector<Member> list;
    for (std::size_t i = 0; i < fields.size();) {
      std::size_t j = i + 1;
      unsigned end = fields[i].end();
      while (j < fields.size() && fields[j].bit / 8 <= (end - 1) / 8) end = fields[j++].end();
      const unsigned at = fields[i].bit / 8;
      const unsigned bytes = (end + 7) / 8 - at;
      const auto& f = fields[i];
      const bool whole = j == i + 1 && f.bit % 8 == 0 && f.width % 8 == 0 && !f.bytes;
      std::string name = f.name;
      if (j > i + 1) name += "_to_" + fields[j - 1].name;
      const bool word = whole && (bytes == 2 || bytes == 4 || bytes == 8) && at % bytes == 0;
      if (word) {
        list.push_back({fmt::format("{}_le{}", lo_, bytes * 8), name, at, bytes, false});
      } else {
        list.push_back({lo_ + "_u8", name, at, bytes, bytes > 1 || f.bytes});
      }
      i = j;
    }
    return list;
  }

  void one(const std::string& name, const std::vector<DescField>& fields) {
    const auto tag = fmt::format("{}_{}_mem", lo_, name);
    const auto list = members(fields);
    line("");
    line("struct {} {{", tag);
    unsigned at = 0, n_gap = 0;
    const auto gap = [&](unsigned to) {
      if (to > at) line("\t{}_u8 rsvd{}[{}];", lo_, n_gap++, to - at);
    };
    for (const auto& m : list) {
      gap(m.at);
      line("\t{} {}{};", m.type, m.name, m.array ? fmt::format("[{}]", m.bytes) : "");
      at = m.at + m.bytes;
    }
    gap(static_cast<unsigned>(d_.size));
    line("};");
    line("{}_ASSERT(sizeof(struct {}) == {}, \"size of {}\");", up_, tag, padded(list), name);
    for (const auto& m : list) {
      line("{}_ASSERT(offsetof(struct {}, {}) == {}, \"{}.{}\");", up_, tag, m.name, m.at, name,
           m.name);
    }
  }

  // A struct is as long as a multiple of its widest member.
  [[nodiscard]] std::uint64_t padded(const std::vector<Member>& list) const {
    std::uint64_t widest = 1;
    for (const auto& m : list) {
      if (m.type.find("_le") != std::string::npos)
        widest = std::max<std::uint64_t>(widest, m.bytes);
    }
    return (d_.size + widest - 1) / widest * widest;
  }

  const std::string lo_, up_;
  const Descriptor& d_;
};

}  // namespace

std::string c_struct(const Map& map, const Descriptor& d) { return CStruct(map, d).run(); }

}  // namespace rnic::regs
