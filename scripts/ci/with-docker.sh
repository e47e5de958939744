#!/usr/bin/env bash
# Runs a test command on a Redis container that testcontainers starts from the stand-in image.
set -euo pipefail
# shellcheck source=docker-lib.sh
source "$(dirname "$0")/docker-lib.sh"

ensure_docker
trap stop_docker EXIT
"$(dirname "$0")/stand-in-images.sh" > /dev/null
# Ryuk, which removes containers of crashed runs, is an image from a registry.
export TEST_REDIS=docker REDIS_IMAGE=chat-recovery-ci/redis TESTCONTAINERS_RYUK_DISABLED=true
"$@"
