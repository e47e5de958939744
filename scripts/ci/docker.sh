#!/usr/bin/env bash
# Runs the real docker-compose.yml on stand-in base images: up with two workers, the demo profile's chat recovered, down.
# Needs root on Debian or Ubuntu; installs docker.io and docker-compose where they are missing and starts a daemon.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=docker-lib.sh
source scripts/ci/docker-lib.sh

READY_WITHIN_S=90
RECOVERED_WITHIN_S=90
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

compose() { docker-compose --project-name chat-recovery-ci --profile demo "$@"; }

watcher_get() { # path
  curl --silent --fail --max-time 5 --header "Authorization: Bearer $ADMIN_TOKEN" "http://127.0.0.1:$port$1"
}

# Waits until a command succeeds; at the deadline shows the logs.
wait_for() { # seconds what command…
  local seconds=$1 what=$2
  shift 2
  for _ in $(seq $((seconds * 2))); do "$@" && { say "$what"; return; }; sleep 0.5; done
  say "Not within $seconds s: $what"
  compose ps
  compose logs --no-color --tail 15 | cut -c 1-300
  return 1
}

two_workers_healthy() {
  local id healthy=0
  for id in $(compose ps --quiet worker); do
    [ "$(docker inspect --format '{{.State.Health.Status}}' "$id")" = healthy ] && healthy=$((healthy + 1))
  done
  [ "$healthy" -eq 2 ]
}
watcher_ready() { watcher_get /readyz > /dev/null; }
chat_recovered() { watcher_get '/v1/sessions?state=recovered' | grep -q '"state":"recovered"'; }

# shellcheck disable=SC2329 # called by the trap
clean_up() {
  compose down --volumes --timeout 20 > /dev/null 2>&1 || true
  stop_docker
}

ensure_docker
trap clean_up EXIT
scripts/ci/stand-in-images.sh > /dev/null
export REDIS_IMAGE=chat-recovery-ci/redis NODE_IMAGE=chat-recovery-ci/node RUNTIME_IMAGE=chat-recovery-ci/node
export CHAT_RECOVERY_IMAGE=chat-recovery-ci/app WORKER_REPLICAS=2 PADDOCK_RECOVERY_AUTODRIVE=true
port=${CI_WATCHER_PORT:-18787}
export WATCHER_PUBLISH=127.0.0.1:$port
ADMIN_TOKEN=$(random) WEBHOOK_SECRETS=$(random) SESSION_API_TOKEN=$(random)
export ADMIN_TOKEN WEBHOOK_SECRETS SESSION_API_TOKEN

say 'Building the image.'
compose build --quiet watcher > /dev/null
say "Image: $(docker image inspect --format '{{.Size}}' "$CHAT_RECOVERY_IMAGE" | awk '{printf "%.0f MB", $1 / 1e6}'), user $(docker image inspect --format '{{.Config.User}}' "$CHAT_RECOVERY_IMAGE")"
compose up --detach --no-build redis watcher worker
wait_for "$READY_WITHIN_S" 'The watcher is ready.' watcher_ready
wait_for "$READY_WITHIN_S" 'Two workers are healthy.' two_workers_healthy
compose up --detach --no-build chat-server
wait_for "$RECOVERED_WITHIN_S" 'The hung chat was recovered.' chat_recovered

if [ "${1:-}" != '--keep-images' ]; then docker image rm "$CHAT_RECOVERY_IMAGE" > /dev/null 2>&1 || true; fi
say 'Docker: all well.'
