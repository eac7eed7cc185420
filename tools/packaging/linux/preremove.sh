#!/bin/sh
# Stops the system service before its program is removed, but not for an upgrade.
set -e
case ${1:-} in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now memwatchd.service || true
fi
