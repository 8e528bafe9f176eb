#include "common/signals.hpp"

#include <csignal>

#include "common/progress.hpp"
#include "io/output_file.hpp"

namespace lacuna::app {
namespace {

extern "C" void end_cleanly(int signal) {
  erase_progress_line();
  io::remove_unfinished_files();
  (void)raise(signal); // SA_RESETHAND: kills when this returns
}

} // namespace

void end_cleanly_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = end_cleanly;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    (void)sigaction(signal, &action, nullptr);
  }
}

} // namespace lacuna::app
