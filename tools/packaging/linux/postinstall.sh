#!/bin/sh
# Creates the account and makes the units known. It starts no service.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers memwatchd.conf
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart memwatchd.service || true # after an upgrade
fi
