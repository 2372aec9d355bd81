#!/bin/bash
# Configures and builds one preset: scripts/build.sh <dev|release|asan|tsan|fuzz> [ninja targets]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
scripts/install-packages.sh
if [ ! -f "build/$preset/build.ninja" ]; then cmake --preset "$preset" >/dev/null; fi
exec ninja -C "build/$preset" "$@"
