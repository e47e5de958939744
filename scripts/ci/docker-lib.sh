# Sourced by the scripts beside it.

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

docker_log=${TMPDIR:-/tmp}/chat-recovery-dockerd.log
started_daemon=''

# A Docker daemon that answers, and docker-compose: installed (root, Debian or Ubuntu) and started where they are missing.
ensure_docker() {
  if ! command -v dockerd > /dev/null || ! command -v docker-compose > /dev/null; then
    say 'Installing docker.io and docker-compose.'
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends docker.io docker-compose iptables > /dev/null
  fi
  docker version > /dev/null 2>&1 && return
  say 'Starting dockerd.'
  dockerd > "$docker_log" 2>&1 &
  started_daemon=$!
  for _ in $(seq 60); do
    docker version > /dev/null 2>&1 && return
    sleep 0.5
  done
  say 'dockerd did not come up:'
  tail -20 "$docker_log"
  return 1
}

# Ends only the daemon that was started here.
stop_docker() {
  [ -n "$started_daemon" ] || return 0
  kill "$started_daemon" 2> /dev/null || true
  wait "$started_daemon" 2> /dev/null || true
}
