// SPDX-License-Identifier: Apache-2.0
// Curves over time as a picture (SVG), panels one above the other.
//
//   Panel p{"queue of the port", "KB", {}};
//   p.curves.push_back({"dcqcn", "KB", {{0, 0}, {1, 12}}});   // x in microseconds
//   std::ofstream("out.svg") << plot_svg("Incast", {p});
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rnic::sim {

struct Curve {
  std::string name, unit;
  std::vector<std::pair<double, double>> points;
};

struct Panel {
  std::string title, unit;
  std::vector<Curve> curves;
};

// A step of an axis from 0 to `most`, 1, 2 or 5 times a power of ten: 4 to 10 of them.
double plot_step(double most);
std::string plot_svg(const std::string& title, const std::vector<Panel>& panels);

}  // namespace rnic::sim
