#!/usr/bin/env bash
# compile.sh PAGE.md PRELUDE COMPILER…: every ```cpp block of a page must compile. A block without
# main becomes the body of a function that knows the names in PRELUDE.
set -euo pipefail
page=$1 prelude=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk -v to="$scratch/block" '
  /^```cpp$/ { inside = 1; name = to (++count) ".txt"; printf "" > name; next }
  /^```$/ { inside = 0 }
  inside { print > name }' "$page"
status=0
for block in "$scratch"/block*.txt; do
  [ -e "$block" ] || { echo "no cpp block in $page"; exit 1; }
  source=${block%.txt}.cpp
  if grep -q 'int main' "$block"; then
    cp "$block" "$source"
  else
    { grep '^#include' "$block" || true
      echo "#include \"$prelude\""
      echo 'void snippet() {'
      grep -v '^#include' "$block"
      echo '}'; } > "$source"
  fi
  "$@" "$source" || { echo "--- in $page:"; cat "$block"; status=1; }
done
exit $status
