#!/bin/bash
# Builds the programs of the test cluster from the Go modules pinned in tests/cluster/modules/.
#
#   scripts/fetch-cluster-binaries.sh [dir]        (default: build/cluster/bin)
#
# A program is built again only when its module's go.mod or go.sum changed. Cold on two cores: about
# 8 minutes; seconds when the Go build cache is warm. Safe to start twice: the second waits for the
# first. Exit status 77: this machine cannot build them (no Go); anything else but 0 is a failure.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
modules=$root/tests/cluster/modules
bin=${1:-$root/build/cluster/bin}

say() { echo "cluster binaries: $*" >&2; }

PATH=$PATH:/usr/local/go/bin
if ! command -v go > /dev/null; then
  say "Go is not installed (1.26 or newer); see https://go.dev/dl"
  exit 77
fi

mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
exec 9> "$bin/.lock"
flock 9

export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"

# build <module folder> <program> <package> [extra -ldflags]
build() {
  local module=$modules/$1 program=$2 package=$3 ldflags="-s -w ${4:-}"
  local stamp started
  # The package and flags are part of the stamp, so that a changed line below builds again too.
  stamp=$({ cat "$module/go.mod" "$module/go.sum"; echo "$package $ldflags"; } | sha256sum)
  if [ -x "$bin/$program" ] && [ "$(cat "$bin/.$program.stamp" 2> /dev/null)" = "$stamp" ]; then
    say "$program is up to date"
    return
  fi
  say "building $program"
  started=$SECONDS
  (cd "$module" && nice -n 10 go build -mod=readonly -ldflags "$ldflags" -o "$bin/.$program.new" "$package" 9>&-)
  mv "$bin/.$program.new" "$bin/$program"
  echo "$stamp" > "$bin/.$program.stamp"
  say "built $program in $((SECONDS - started)) s"
}

# Without these the server and kubectl call themselves v0.0.0, and clients that compare versions refuse the server.
version=$(sed -n 's/^\(require \|\t\)k8s.io\/kubernetes v\([0-9.]*\).*/\2/p' "$modules/kubernetes/go.mod" | head -1)
IFS=. read -r major minor _ <<< "$version"
kubernetes_flags=
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  kubernetes_flags+=" -X $package.gitVersion=v$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
done

build etcd etcd go.etcd.io/etcd/server/v3
build kubernetes kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$kubernetes_flags"
build kubernetes kubectl k8s.io/kubernetes/cmd/kubectl "$kubernetes_flags"
