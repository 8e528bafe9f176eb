// Ctrl-C and its kin end a program without leaving half-written files or a progress line.
#pragma once

namespace lacuna::app {

/// SIGINT, SIGTERM and SIGHUP, unless they are ignored already: erases the progress line, removes
/// unfinished output files, then dies of the signal, as the shell expects.
void end_cleanly_on_signals();

} // namespace lacuna::app
