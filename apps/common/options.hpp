// Options that both programs have, and choices by name with readable messages.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>
#include <lacuna/plan/decision.hpp>

#include "common/device.hpp"
#include "common/text.hpp"

namespace lacuna::app {

/// An option (or a positional) that takes one of a few names. Its type name lists them, "f64|f32".
template <class E>
CLI::Option* add_choice(CLI::App& cli, const std::string& name, E& value,
                        std::vector<std::pair<std::string, E>> choices, const std::string& help) {
  std::string listed;
  for (const auto& choice : choices) listed += (listed.empty() ? "" : "|") + choice.first;
  const auto set = [&value, name, choices = std::move(choices)](const std::string& text) {
    std::vector<std::string> names;
    for (const auto& [key, meaning] : choices) {
      if (key == text) {
        value = meaning;
        return;
      }
      names.push_back(key);
    }
    const std::string like = closest(text, names);
    throw CLI::ValidationError(name,
                               fmt::format("'{}' is none of {}{}", text, fmt::join(names, ", "),
                                           like.empty() ? "" : "; did you mean '" + like + "'?"));
  };
  return cli.add_option_function<std::string>(name, set, help)->type_name(listed);
}

/// --format F: a planned format by name; empty: the planner's choice.
inline void add_format(CLI::App& command, std::string& format) {
  std::vector<std::pair<std::string, std::string>> choices = {{"auto", ""}};
  for (const std::string& name : planned_formats()) choices.emplace_back(name, name);
  add_choice<std::string>(command, "--format", format, std::move(choices),
                          "auto (default), " + planned_formats_in_words())
      ->option_text("F");
}

inline void add_device_option(CLI::App& cli, device_request& request) {
  const auto set = [&request](const std::string& text) {
    const auto parsed = parse_device(text);
    if (!parsed)
      throw CLI::ValidationError("--device", "'" + text + "' is none of auto, host, cuda, cuda:K");
    request = *parsed;
  };
  cli.add_option_function<std::string>("--device", set, "auto (default), host, cuda or cuda:K")
      ->type_name("auto|host|cuda")
      ->option_text("DEVICE");
}

inline void add_threads_option(CLI::App& cli, int& threads) {
  cli.add_option("--threads", threads, "CPU threads; default: all")
      ->check(CLI::Range(1, 4096))
      ->option_text("N");
}

} // namespace lacuna::app
