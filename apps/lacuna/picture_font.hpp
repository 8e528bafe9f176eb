// Letters for pictures, so that these need no font library.
#pragma once

namespace lacuna::app {

/// A letter's cell, with the gaps to its neighbours.
constexpr int letter_width = 6, letter_height = 8;

/// Whether a dot of the letter is inked. Letters beyond ASCII are question marks.
bool letter_has_dot(char letter, int x, int y);

} // namespace lacuna::app
