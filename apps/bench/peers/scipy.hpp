// SciPy in a Python of its own beside this process: python3, or what LACUNA_PYTHON names.
#pragma once

#include <cstdio>
#include <string>

namespace lacuna::bench {

class scipy {
public:
  /// Starts it. about() says which it is, or why it is not there.
  scipy();
  scipy(const scipy&) = delete;
  scipy& operator=(const scipy&) = delete;
  ~scipy();

  [[nodiscard]] bool is_there() const { return to_ != nullptr; }
  [[nodiscard]] const std::string& about() const { return about_; }
  /// Seconds that SciPy took to read the file into its own matrix, or to write that matrix again;
  /// negative if it cannot.
  double read(const std::string& path) { return ask("read " + path); }
  double write(const std::string& path) { return ask("write " + path); }
  /// Any request that the script knows. Throws error with SciPy's reason if it cannot.
  void require(const std::string& request);

  /// The seconds that a request took; negative if SciPy cannot.
  double ask(const std::string& request);

private:
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  int process_ = -1;
  std::string about_, trouble_;
};

} // namespace lacuna::bench
