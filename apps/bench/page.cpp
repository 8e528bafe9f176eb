#include "bench/page.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "common/html.hpp"
#include "common/text.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::bench {
namespace {

using figure = nlohmann::ordered_json;

bool is_nested(const figure& f) {
  return f.is_object() || (f.is_array() && !f.empty() && f.front().is_structured());
}

std::string as_text(const figure& f) {
  if (f.is_null()) return "";
  if (f.is_boolean()) return f.get<bool>() ? "yes" : "no";
  if (f.is_string()) return f.get<std::string>();
  if (f.is_number_float()) return fmt::format("{:.4g}", f.get<double>());
  if (!f.is_array()) return f.dump();
  std::string list;
  for (const figure& each : f) list += (list.empty() ? "" : ", ") + as_text(each);
  return list;
}

/// Of a key.
std::string in_words(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

/// "poisson2d:n=400 · f64", of whatever tells this one from its neighbours.
std::string name_of_figure(const figure& f) {
  std::string name;
  for (const char* key : {"matrix", "name", "group", "precision", "batch"})
    if (f.contains(key) && !is_nested(f[key]))
      name += fmt::format("{}{}{}", name.empty() ? "" : " · ",
                          std::string_view(key) == "batch" ? "batches of " : "", as_text(f[key]));
  return name;
}

/// Contestants by speed: operations or entries a second, else one over the time.
void draw_bars(app::html_page& page, const figure& all) {
  const auto speed = [](const figure& f) -> std::pair<double, std::string> {
    const auto of = [&](const char* key) {
      return f.contains(key) && f[key].is_number() ? f[key].get<double>() : 0.0;
    };
    if (const double v = of("gflops"); v > 0) return {v, fmt::format("{:.2f} GFLOP/s", v)};
    if (const double v = of("inserts_per_s"); v > 0) return {v, fmt::format("{:.3g} / s", v)};
    if (const double v = of("seconds"); v > 0) return {1 / v, app::human_seconds(v)};
    return {0, ""};
  };
  std::vector<app::html_page::bar> bars;
  for (const figure& f : all)
    if (const auto [value, text] = speed(f); f.contains("name") && value > 0)
      bars.push_back(
          {as_text(f["name"]), value, text, f.contains("peer") && !f.value("peer", true)});
  if (bars.size() > 1) page.bars(bars);
}

void draw_table(app::html_page& page, const figure& rows) {
  std::vector<std::string> titles;
  for (const figure& row : rows)
    for (const auto& [key, value] : row.items())
      if (!is_nested(value) && key != "explain" &&
          std::find(titles.begin(), titles.end(), key) == titles.end())
        titles.push_back(key);
  std::vector<std::vector<std::string>> lines;
  for (const figure& row : rows) {
    std::vector<std::string> line;
    for (const std::string& key : titles)
      line.push_back(row.contains(key) ? as_text(row[key]) : "");
    lines.push_back(line);
  }
  std::transform(titles.begin(), titles.end(), titles.begin(), in_words);
  page.table(titles, lines);
}

void draw(app::html_page& page, const std::string& name, const figure& f) {
  if (f.is_array()) {
    const bool is_flat = std::all_of(f.begin(), f.end(), [](const figure& row) {
      return row.is_object() && std::none_of(row.begin(), row.end(), is_nested);
    });
    if (is_flat && !f.empty()) {
      if (!name.empty()) page.heading(name);
      draw_bars(page, f);
      return draw_table(page, f);
    }
    for (const figure& each : f)
      if (each.is_object()) draw(page, name_of_figure(each), each);
    return;
  }
  if (!name.empty()) page.heading(name);
  std::vector<std::vector<std::string>> facts;
  for (const auto& [key, value] : f.items())
    if (!is_nested(value) && !(value.is_array() && value.empty()))
      facts.push_back({in_words(key), as_text(value)});
  page.table({}, facts);
  for (const auto& [key, value] : f.items())
    if (is_nested(value)) draw(page, key == "contestants" ? "" : in_words(key), value);
}

} // namespace

std::string figures_page(const figure& figures) {
  app::html_page page("lacuna-bench " + as_text(figures.value("suite", figure())));
  draw(page, "", figures);
  return page.text();
}

void keep_figures(const settings& s, const figure& figures) {
  const auto write = [](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw bad_input("cannot write " + path);
  };
  write(s.json, figures.dump(2) + '\n');
  write(s.html, figures_page(figures));
}

} // namespace lacuna::bench
