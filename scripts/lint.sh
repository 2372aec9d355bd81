#!/bin/bash
# Formatting, shell scripts and clang-tidy: scripts/lint.sh [--tests] [file.cpp…]
#
# clang-tidy looks at every .cpp of shared, agent and operator, with --tests at those of tests too, or only at the files
# named. A file that passed is looked at again when it, any header of ours, .clang-tidy changed
# (stamps in build/dev/tidy). Lists every failure; exit status 1 when there is any.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-packages.sh

folders=(shared agent operator)
files=()
for word in "$@"; do
  case $word in
    --tests) folders+=(tests) ;;
    -*) echo "usage: scripts/lint.sh [--tests] [file.cpp…]" >&2; exit 3 ;;
    *) files+=("$word") ;;
  esac
done
failures=()

echo "lint: clang-format"
mapfile -t sources < <(git ls-files '*.cpp' '*.h' | while read -r file; do [ -f "$file" ] && echo "$file"; done)
while read -r file; do
  failures+=("clang-format: $file (make format)")
done < <(printf '%s\n' "${sources[@]}" | xargs -P 2 -n 50 clang-format-16 --dry-run -Werror 2>&1 |
  sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: .*/\1/p' | sort -u)

echo "lint: shellcheck"
mapfile -t scripts < <(git ls-files 'scripts/*.sh' .ci/run 'tests/cluster/*.sh')
for script in "${scripts[@]}"; do
  shellcheck "$script" || failures+=("shellcheck: $script")
done

if [ ! -f build/dev/compile_commands.json ]; then cmake --preset dev > /dev/null; fi
tidy=build/dev/tidy
mkdir -p "$tidy"
# g++'s precompiled headers mean nothing to clang: each file is read with what it includes itself.
sed -E 's/-Winvalid-pch -include [^ ]*cmake_pch.hxx//' build/dev/compile_commands.json > "$tidy/compile_commands.json"
# The newest thing that any verdict rests on besides the .cpp file itself.
mapfile -t headers < <(find "${folders[@]}" -name '*.h')
newest=.clang-tidy
for header in "${headers[@]}"; do
  if [ "$header" -nt "$newest" ]; then newest=$header; fi
done

if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git ls-files '*.cpp' | grep -E "^($(IFS='|'; echo "${folders[*]}"))/")
fi
todo=()
for file in "${files[@]}"; do
  [ -f "$file" ] || continue
  # Not part of this build (fuzz targets): nothing says how to compile it.
  grep -qF "/$file\"" build/dev/compile_commands.json || { echo "lint: $file is not part of build/dev, skipped"; continue; }
  stamp=$tidy/${file//\//+}
  if [ "$stamp" -nt "$file" ] && [ "$stamp" -nt "$newest" ]; then continue; fi
  todo+=("$file")
done
echo "lint: clang-tidy: ${#todo[@]} of ${#files[@]} files to look at"

check() {
  local file=$1 name=${1//\//+}
  # Its time is that of the start: what changes meanwhile is looked at again.
  rm -f "$tidy/$name"
  touch "$tidy/$name.began"
  if clang-tidy-16 -p "$tidy" --quiet "$file" > "$tidy/$name.output" 2>&1; then
    mv "$tidy/$name.began" "$tidy/$name"
    echo "ok $file"
  else
    echo "FAILED $file"
  fi
}
export -f check
export tidy
if [ ${#todo[@]} -gt 0 ]; then
  started=$SECONDS
  # shellcheck disable=SC2016
  printf '%s\n' "${todo[@]}" | xargs -P 2 -I{} bash -c 'check "$1"' _ {} |
    { n=0; while read -r line; do n=$((n + 1)); echo "[$n/${#todo[@]}] clang-tidy $line"; done; }
  echo "lint: clang-tidy took $((SECONDS - started)) s"
fi
for file in "${todo[@]}"; do
  name=${file//\//+}
  [ -f "$tidy/$name" ] && continue
  grep -vE '^[0-9]+ warnings? (generated|treated)' "$tidy/$name.output" || true
  failures+=("clang-tidy: $file")
done

if [ ${#failures[@]} -gt 0 ]; then
  echo "lint: ${#failures[@]} failures:" >&2
  printf '  %s\n' "${failures[@]}" >&2
  exit 1
fi
echo "lint: all well"
