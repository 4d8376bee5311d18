// SPDX-License-Identifier: Apache-2.0
#include "sim/run/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rnic::sim {

namespace {
constexpr double kWidth = 900, kHeight = 260;          // of a panel's inside
constexpr double kLeft = 70, kRight = 150, kTop = 60;  // around all panels
constexpr double kBetween = 76;                        // below each panel
constexpr const char* kColours[] = {"#1b6ca8", "#d1495b", "#2e8b57", "#e09f3e",
                                    "#6a4c93", "#444444", "#17a2b8", "#8d5524"};

// Curves that lie on one another stay visible: the later ones have gaps.
constexpr const char* kDashes[] = {"none", "9 3", "5 3", "2 3"};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    int size = 12) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y,
      anchor, size, escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* colour,
                 const std::string& more = "") {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1,
      x2, y2, colour, more);
}

struct Scale {
  double most, step;
  explicit Scale(double value) : step(plot_step(value)) {
    most = std::max(1.0, std::ceil(value / step - 1e-9)) * step;
  }
};

std::string draw(const Panel& panel, double top, const Scale& x) {
  double most = 0;
  for (const Curve& c : panel.curves) {
    for (const auto& [at, value] : c.points) most = std::max(most, value);
  }
  const Scale y(most);
  const auto px = [&](double v) { return kLeft + kWidth * v / x.most; };
  const auto py = [&](double v) { return top + kHeight * (1 - v / y.most); };
  std::string out = text_at(kLeft, top - 8, "start", panel.title + ", " + panel.unit, 14);
  for (double v = 0; v <= y.most * 1.0001; v += y.step) {
    out += line(kLeft, py(v), kLeft + kWidth, py(v), "#dddddd");
    out += text_at(kLeft - 6, py(v) + 4, "end", fmt::format("{:g}", v));
  }
  for (double v = 0; v <= x.most * 1.0001; v += x.step) {
    out += line(px(v), top + kHeight, px(v), top + kHeight + 4, "#888888");
    out += text_at(px(v), top + kHeight + 17, "middle", fmt::format("{:g}", v));
  }
  out += text_at(kLeft + kWidth / 2, top + kHeight + 34, "middle", "time, us");
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    const std::string style = fmt::format(" stroke-width=\"1.6\" stroke-dasharray=\"{}\"",
                                          kDashes[i % std::size(kDashes)]);
    out += fmt::format("<polyline fill=\"none\" stroke=\"{}\"{} points=\"", colour, style);
    for (const auto& [at, value] : panel.curves[i].points)
      out += fmt::format("{:.1f},{:.1f} ", px(at), py(value));
    out += "\"/>\n";
    const double at = top + 14 + 18 * static_cast<double>(i);
    out += line(kLeft + kWidth + 10, at - 4, kLeft + kWidth + 30, at - 4, colour, style);
    out += text_at(kLeft + kWidth + 36, at, "start", panel.curves[i].name);
  }
  return out;
}
}  // namespace

double plot_step(double most) {
  if (!(most > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(most)));
  const double lead = most / power;  // 1 to 10
  return power * (lead < 2 ? 0.2 : lead < 5 ? 0.5 : 1);
}

std::string plot_svg(const std::string& title, const std::vector<Panel>& panels) {
  double last = 0;
  for (const Panel& p : panels) {
    for (const Curve& c : p.curves) {
      if (!c.points.empty()) last = std::max(last, c.points.back().first);
    }
  }
  const Scale x(last);
  const double height = kTop + static_cast<double>(panels.size()) * (kHeight + kBetween);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + kWidth + kRight, height);
  out += text_at(kLeft, 20, "start", title, 16);
  for (size_t i = 0; i < panels.size(); ++i)
    out += draw(panels[i], kTop + static_cast<double>(i) * (kHeight + kBetween), x);
  return out + "</svg>\n";
}

}  // namespace rnic::sim
