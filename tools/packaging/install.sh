#!/bin/sh
# Installs memwatchd, or updates it, without root:
#
#   curl -fsSL https://github.com/memwatchd/memwatchd/releases/latest/download/install.sh | sh
#
# Settings (environment variables):
#   VERSION   the version to install, such as v1.2.0; by default the version of this script
#   PREFIX    the directory to install into; by default ~/.local
#   BASE_URL  the directory that contains the archives and SHA256SUMS, also file:///DIR
#
# "sh install.sh uninstall" removes the installed files, and nothing else.
set -eu

RELEASES=https://github.com/memwatchd/memwatchd/releases/download
VERSION=${VERSION:-@VERSION@}
PREFIX=${PREFIX:-$HOME/.local}
BASE_URL=${BASE_URL:-$RELEASES/$VERSION}
# The public key of minisign, see docs/internals/releasing.md; empty if releases are not signed.
PUBLIC_KEY=

fail() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

# list_files prints the paths of the installed files below PREFIX.
list_files() {
	printf '%s\n' bin/memwatchd share/bash-completion/completions/memwatchd \
		share/zsh/site-functions/_memwatchd share/fish/vendor_completions.d/memwatchd.fish
	(cd "$PREFIX" && ls share/man/man1/memwatchd.1 share/man/man1/memwatchd-*.1) 2>/dev/null || true
}

uninstall() {
	[ -e "$PREFIX/bin/memwatchd" ] || fail "uninstall: memwatchd is not in $PREFIX/bin; set PREFIX"
	list_files | while IFS= read -r file; do rm -f "$PREFIX/$file"; done
	echo "Removed memwatchd from $PREFIX. Your memory, settings and index are unchanged."
}

detect_platform() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "$(uname -s) is not supported; on Windows, run memwatchd in WSL" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "$(uname -m) is not supported; build memwatchd with: go install github.com/memwatchd/memwatchd/cmd/memwatchd@latest" ;;
	esac
}

# download URL FILE
download() {
	case $1 in
	file://*) cp "${1#file://}" "$2" && return ;;
	*)
		if command -v curl >/dev/null 2>&1; then
			curl -fsSL --proto '=https,http' --proto-redir '=https' -o "$2" "$1" && return
		elif command -v wget >/dev/null 2>&1; then
			# wget cannot refuse such a redirect, so the file is not used.
			log=$(LC_ALL=C wget -S -O "$2" "$1" 2>&1) || fail "download $1: failed; check VERSION and BASE_URL"
			case $log in
			*[Ll]"ocation: http://"*) fail "download $1: the server redirects to http; set BASE_URL" ;;
			esac
			return
		else
			fail "download $1: neither curl nor wget is installed"
		fi
		;;
	esac
	fail "download $1: failed; check VERSION and BASE_URL"
}

# check_signature DIR checks the signature of SHA256SUMS, if this release has a key.
check_signature() {
	if [ -z "$PUBLIC_KEY" ]; then
		echo 'The release is not signed; the checksums are those of the server.'
	elif command -v minisign >/dev/null 2>&1; then
		download "$BASE_URL/SHA256SUMS.minisig" "$1/SHA256SUMS.minisig"
		minisign -Vqm "$1/SHA256SUMS" -P "$PUBLIC_KEY" || fail "verify SHA256SUMS: the signature is wrong; nothing was installed"
	else
		echo 'The signature of the release was not checked; to check it, install minisign and run this again.'
	fi
}

# check_sum DIR FILE compares the checksum of a file with SHA256SUMS beside it.
check_sum() {
	expected=$(awk -v file="$2" '$2 == file { print $1 }' "$1/SHA256SUMS")
	[ -n "$expected" ] || fail "SHA256SUMS has no checksum of $2"
	if command -v sha256sum >/dev/null 2>&1; then
		actual=$(sha256sum "$1/$2")
	elif command -v shasum >/dev/null 2>&1; then
		actual=$(shasum -a 256 "$1/$2")
	else
		fail "verify $2: neither sha256sum nor shasum is installed"
	fi
	[ "${actual%% *}" = "$expected" ] || fail "verify $2: the checksum differs; nothing was installed"
}

# place FROM TO MODE replaces a file, also while the program runs.
place() {
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.new"
	chmod "$3" "$2.new"
	mv -f "$2.new" "$2"
}

install() {
	detect_platform
	name=memwatchd-$VERSION-$os-$arch
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	download "$BASE_URL/SHA256SUMS" "$work/SHA256SUMS"
	check_signature "$work"
	download "$BASE_URL/$name.tar.gz" "$work/$name.tar.gz"
	check_sum "$work" "$name.tar.gz"
	tar -xzf "$work/$name.tar.gz" -C "$work"

	place "$work/$name/memwatchd" "$PREFIX/bin/memwatchd" 755
	place "$work/$name/completions/memwatchd.bash" "$PREFIX/share/bash-completion/completions/memwatchd" 644
	place "$work/$name/completions/_memwatchd" "$PREFIX/share/zsh/site-functions/_memwatchd" 644
	place "$work/$name/completions/memwatchd.fish" "$PREFIX/share/fish/vendor_completions.d/memwatchd.fish" 644
	for page in "$work/$name"/man/man?/*; do
		section=$(basename "$(dirname "$page")")
		place "$page" "$PREFIX/share/man/$section/$(basename "$page")" 644
	done

	echo "Installed memwatchd $VERSION in $PREFIX/bin."
	case :$PATH: in
	*":$PREFIX/bin:"*) ;;
	*)
		echo "Add it to your PATH, also in the profile of your shell:"
		echo
		echo "  export PATH=\"$PREFIX/bin:\$PATH\""
		echo
		;;
	esac
	echo 'Next: run "memwatchd setup", or "memwatchd restart" after an update.'
}

case ${1:-install} in
install) install ;;
uninstall) uninstall ;;
*) fail "unknown argument $1; use install or uninstall" ;;
esac
