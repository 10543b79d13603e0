# Functions for the commands in this directory: exit with an error, and install Debian packages.

fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# Whether a command exists; a command with arguments must succeed.
is_there() {
    if (($# == 1)); then
        command -v "$1" >/dev/null
    else
        "$@" >/dev/null 2>&1
    fi
}

install_packages() {
    local missing=() entry
    for entry in "$@"; do
        is_there ${entry#*:} || missing+=("${entry%%:*}")
    done
    if ((${#missing[@]} == 0)); then
        return 0
    fi
    command -v apt-get >/dev/null ||
        fail "apt-get is missing. Install these packages by other means: ${missing[*]}"
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            fail "these packages are missing: ${missing[*]}. Install sudo or run this command as root"
        as_root=(sudo)
    fi
    # Another apt may run, for example the unattended upgrades of a new machine. `install` waits for its
    # lock. `update` cannot wait for the lock of the package lists, therefore it is tried again.
    local attempt
    for attempt in 1 2 3 4 5 6; do
        "${as_root[@]}" apt-get update -qq && break
        ((attempt < 6)) || fail "apt-get update failed $attempt times. See its messages above"
        sleep 10
    done
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends "${missing[@]}"
}
