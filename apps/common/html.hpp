// A page of text, tables and charts in one file: no script, nothing fetched from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna::app {

/// Text for XML and HTML: what would be markup is not.
std::string for_xml(std::string_view text);

class html_page {
public:
  struct bar {
    std::string name;
    double value = 0; ///< bars are as long as values are beside the largest one
    std::string text; ///< of the value, behind the bar
    bool stands_out = false;
  };

  explicit html_page(std::string_view title);
  void heading(std::string_view text);
  void paragraph(std::string_view text);
  void list(const std::vector<std::string>& items);
  /// The first column is text, the others are numbers. No titles: a table of facts.
  void table(const std::vector<std::string>& titles,
             const std::vector<std::vector<std::string>>& rows);
  void bars(const std::vector<bar>& all);
  /// Values above 0 on a logarithmic axis, one beside the other; others leave a gap.
  void curve(const std::vector<double>& values, std::string_view below);
  /// A drawing made elsewhere.
  void svg(std::string_view drawing, std::string_view caption);
  /// The whole page.
  [[nodiscard]] std::string text() const;

private:
  std::string body_;
};

} // namespace lacuna::app
