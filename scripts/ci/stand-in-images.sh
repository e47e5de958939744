#!/usr/bin/env bash
# Builds base images from this machine's own files, for machines without an image registry:
# chat-recovery-ci/redis (redis-server, redis-cli, sh) and chat-recovery-ci/node (node, npm, sh and a few tools).
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Copies a program and every library that it is linked with.
add_program() { # root program [file]
  local root=$1 real
  real=$(readlink -f "${3:-$(command -v "$2")}")
  install -D "$real" "$root/usr/bin/$(basename "$2")"
  # Lines are "name => /path (address)" or "/path (address)".
  ldd "$real" 2>/dev/null | grep -o '/[^ ]*' | sort -u | while read -r library; do
    install -D "$(readlink -f "$library")" "$root$library"
  done || true
}

# A root like a distribution's: /bin and /lib are links into /usr.
new_root() { # root
  mkdir -p "$1"/{usr/bin,usr/lib,usr/lib64,etc,tmp,data,root}
  ln -s usr/bin "$1/bin"
  ln -s usr/lib "$1/lib"
  ln -s usr/lib64 "$1/lib64"
  chmod 1777 "$1/tmp"
  printf 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n' > "$1/etc/passwd"
  printf 'root:x:0:\nnode:x:1000:\n' > "$1/etc/group"
  printf 'hosts: files dns\n' > "$1/etc/nsswitch.conf"
  add_program "$1" sh
}

build() { # name root instructions
  printf 'FROM scratch\nCOPY root /\n%s\n' "$3" > "$2/../Dockerfile"
  docker build --quiet --tag "chat-recovery-ci/$1" "$2/.."
}

# Debian has the server's program in redis-tools (redis-check-rdb and redis-server are one file); redis-server only adds a
# service, which is not wanted here.
redis_server=$(command -v redis-server || command -v redis-check-rdb || true)
if [ -z "$redis_server" ] || ! command -v redis-cli > /dev/null; then
  { apt-get install -y -qq --no-install-recommends redis-tools || { apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-tools; }; } > /dev/null
  redis_server=$(command -v redis-server || command -v redis-check-rdb)
fi

redis_root=$work/redis/root
new_root "$redis_root"
add_program "$redis_root" redis-server "$redis_server"
add_program "$redis_root" redis-cli
# The official image's server lets other containers in as well, whatever its command line says.
mv "$redis_root/usr/bin/redis-server" "$redis_root/usr/bin/redis-server-program"
printf '#!/bin/sh\nexec /usr/bin/redis-server-program "$@" --protected-mode no\n' > "$redis_root/usr/bin/redis-server"
chmod +x "$redis_root/usr/bin/redis-server"
build redis "$redis_root" $'WORKDIR /data\nEXPOSE 6379\nCMD ["redis-server"]'

node_root=$work/node/root
new_root "$node_root"
for program in node env mkdir chown rm cp ls cat id uname; do add_program "$node_root" "$program"; done
npm_home=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
mkdir -p "$node_root/usr/lib/node_modules"
cp -r "$npm_home" "$node_root/usr/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$node_root/usr/bin/npm"
# Certificates of the machine: it may reach the package registry only by its own.
certificates=/etc/ssl/certs/ca-certificates.crt
instructions='ENV PATH=/usr/bin'
if [ -f "$certificates" ]; then
  install -D "$(readlink -f "$certificates")" "$node_root$certificates"
  instructions+=" NODE_EXTRA_CA_CERTS=$certificates NPM_CONFIG_CAFILE=$certificates"
fi
build node "$node_root" "$instructions"
