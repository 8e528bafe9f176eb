#include "common/html.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include <lacuna/core/printable.hpp>

namespace lacuna::app {
namespace {

constexpr std::string_view page_style = R"(
body { font: 15px/1.5 system-ui, Helvetica, Arial, sans-serif; color: #16202e; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #b0b8c4; }
p, li { margin: .25rem 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { color: #5b6675; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }
th, td { padding: .1rem .8rem .1rem 0; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
th { color: #5b6675; font-weight: 600; } td { font-variant-numeric: tabular-nums; }
table.facts td { text-align: left; } table.facts td:first-child { color: #5b6675; }
table.bars { display: table; width: 100%; } table.bars td { text-align: left; white-space: nowrap; }
table.bars td.room { width: 100%; }
.bar { height: 1em; min-width: 1px; background: #8fb0d8; } .bar.out { background: #1f5fa8; }
)";

} // namespace

std::string for_xml(std::string_view text) {
  std::string result;
  for (const char c : text) switch (c) {
    case '&': result += "&amp;"; break;
    case '<': result += "&lt;"; break;
    case '>': result += "&gt;"; break;
    case '"': result += "&quot;"; break;
    default: result += c;
    }
  return result;
}

html_page::html_page(std::string_view title) {
  const std::string name = for_xml(printable(title));
  body_ = fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n"
                      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
                      name, page_style);
}

void html_page::heading(std::string_view text) {
  body_ += fmt::format("<h2>{}</h2>\n", for_xml(text));
}
void html_page::paragraph(std::string_view text) {
  body_ += fmt::format("<p>{}</p>\n", for_xml(printable(text)));
}
void html_page::list(const std::vector<std::string>& items) {
  body_ += "<ul>\n";
  for (const std::string& item : items)
    body_ += fmt::format("<li>{}</li>\n", for_xml(printable(item)));
  body_ += "</ul>\n";
}

void html_page::table(const std::vector<std::string>& titles,
                      const std::vector<std::vector<std::string>>& rows) {
  body_ += titles.empty() ? "<table class=\"facts\">\n" : "<table>\n";
  const auto line = [&](const char* cell, const std::vector<std::string>& texts) {
    body_ += "<tr>";
    for (const std::string& text : texts)
      body_ += fmt::format("<{0}>{1}</{0}>", cell, for_xml(printable(text)));
    body_ += "</tr>\n";
  };
  if (!titles.empty()) line("th", titles);
  for (const auto& row : rows) line("td", row);
  body_ += "</table>\n";
}

void html_page::bars(const std::vector<bar>& all) {
  double most = 0;
  for (const bar& b : all) most = std::max(most, b.value);
  body_ += "<table class=\"bars\">\n";
  for (const bar& b : all)
    body_ += fmt::format("<tr><td>{}</td><td class=\"room\"><div class=\"bar{}\" "
                         "style=\"width:{:.1f}%\"></div></td><td>{}</td></tr>\n",
                         for_xml(printable(b.name)), b.stands_out ? " out" : "",
                         most > 0 ? 100 * b.value / most : 0, for_xml(printable(b.text)));
  body_ += "</table>\n";
}

void html_page::curve(const std::vector<double>& values, std::string_view below) {
  constexpr double width = 720, height = 260, left = 60, top = 12;
  double high = -400, low = 400; // decades
  for (const double v : values)
    if (std::isfinite(v) && v > 0) {
      high = std::max(high, std::log10(v));
      low = std::min(low, std::log10(v));
    }
  if (high < low) return paragraph("There is nothing to draw.");
  high = std::ceil(high);
  low = std::min(std::floor(low), high - 1);
  const double apart = std::max(1.0, std::ceil((high - low) / 8)); // decades between lines
  const auto y_of = [&](double decade) { return top + (high - decade) / (high - low) * height; };
  body_ += fmt::format("<figure><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" "
                       "height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" font-size=\"12\" "
                       "font-family=\"Helvetica, Arial, sans-serif\" fill=\"#5b6675\">\n",
                       left + width + 12, top + height + 30);
  for (double decade = high; decade >= low; decade -= apart)
    body_ += fmt::format("<path d=\"M{0:g} {1:.1f}h{2:g}\" stroke=\"#d5dae2\"/><text x=\"{3:g}\" "
                         "y=\"{4:.1f}\" text-anchor=\"end\">1e{5:+03.0f}</text>\n",
                         left, y_of(decade), width, left - 6, y_of(decade) + 4, decade);
  const double points = std::max<double>(static_cast<double>(values.size()) - 1, 1);
  body_ +=
      "<path fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"";
  bool is_drawing = false;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const bool is_there = std::isfinite(values[k]) && values[k] > 0;
    if (is_there)
      fmt::format_to(std::back_inserter(body_), "{}{:.1f} {:.1f}", is_drawing ? 'L' : 'M',
                     left + static_cast<double>(k) / points * width, y_of(std::log10(values[k])));
    is_drawing = is_there;
  }
  body_ += fmt::format("\"/>\n<text x=\"{0:g}\" y=\"{1:g}\">0</text><text x=\"{2:g}\" y=\"{1:g}\" "
                       "text-anchor=\"end\">{3}</text>\n</svg></figure>\n",
                       left, top + height + 20, left + width, for_xml(below));
}

void html_page::svg(std::string_view drawing, std::string_view caption) {
  body_ += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", drawing,
                       for_xml(printable(caption)));
}

std::string html_page::text() const { return body_ + "</body>\n</html>\n"; }

} // namespace lacuna::app
