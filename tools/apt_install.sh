#!/usr/bin/env bash
# Installs Debian packages for the tests, without starting their system services.
#
#   tools/apt_install.sh mosquitto redis-server
#
# The tests start their own instances, on free ports and with their own settings; a service of the system on the usual
# port would only be in the way. Debian asks /usr/sbin/policy-rc.d whether a package may start its service (exit 101:
# no); one that is already there is left as it is.
set -euo pipefail

SUDO=${SUDO-$([ "$(id -u)" = 0 ] || echo sudo)}
POLICY=/usr/sbin/policy-rc.d

fail() {
    echo "could not install $*: apt-get failed, its words are above." >&2
    echo "Install it by hand (or put its program on PATH) and run make again." >&2
    exit 1
}

command -v apt-get >/dev/null || { echo "no apt-get here: install $* by hand, so that it is on PATH." >&2; exit 1; }
if [ -n "$SUDO" ] && ! command -v sudo >/dev/null; then
    echo "installing $* needs root, and there is no sudo: run as root: apt-get install --no-install-recommends $*" >&2
    exit 1
fi

if [ ! -e "$POLICY" ]; then
    trap '$SUDO rm -f "$POLICY"' EXIT
    printf '#!/bin/sh\nexit 101\n' | $SUDO tee "$POLICY" >/dev/null
    $SUDO chmod 755 "$POLICY"
fi

install() {
    $SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# A fresh machine has no package lists, or old ones: only then is an update worth its time.
install "$@" || { $SUDO apt-get update && install "$@"; } || fail "$@"
