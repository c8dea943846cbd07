# Shared by the scripts in jobs/: what a fresh machine needs before anything can be built.
# Source it; it defines functions and does nothing by itself.

# The oldest Swift that builds this package (see the first line of Package.swift).
readonly required_swift_major=6
readonly required_swift_minor=3

# System packages and a file that shows that each is there, below /usr/include.
readonly required_packages=(libcurl4-openssl-dev libsqlite3-dev zlib1g-dev)
readonly required_headers=(curl/curl.h sqlite3.h zlib.h)

say() { printf '%s\n' "== $*"; }

fail() {
    printf '%s\n' "error: $*" >&2
    exit 1
}

# Whether a C header is where the compiler looks on Debian and Ubuntu.
has_header() {
    local folder
    for folder in /usr/include /usr/include/*-linux-gnu /usr/local/include; do
        [[ -e "$folder/$1" ]] && return 0
    done
    return 1
}

# Installs the system packages that are missing for a build, or names them and ends.
require_packages() {
    local missing=() index
    for index in "${!required_packages[@]}"; do
        has_header "${required_headers[index]}" || missing+=("${required_packages[index]}")
    done
    ((${#missing[@]})) || return 0
    install_packages "${missing[@]}"
}

# Installs system packages, as root or through sudo, or names them and ends.
install_packages() {
    local root=()
    command -v apt-get >/dev/null \
        || fail "missing system packages: $* (no apt-get here: install what your system calls them)"
    local advice="run this, then try again: sudo apt-get install $*"
    if ((EUID != 0)); then
        # Without a password, or with somebody there to type it.
        command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; } \
            || fail "missing system packages: $*; $advice"
        root=(sudo)
    fi
    say "installing system packages: $*"
    # Lists that cannot be refreshed are no reason to stop: the packages may stand in the old ones.
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null \
        || say "the package lists could not be refreshed; trying those that are here"
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" </dev/null \
        || fail "could not install $*; $advice"
}

# Ends with a clear word where Swift is missing or too old.
require_swift() {
    local wanted="$required_swift_major.$required_swift_minor" version major minor
    command -v swift >/dev/null \
        || fail "Swift is not installed (or not on the PATH); version $wanted or later is needed: https://www.swift.org/install/linux/"
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+)\.([0-9]+).*/\1 \2/p' | head -n 1)
    [[ -n $version ]] || fail "\"swift --version\" does not tell a version; $wanted or later is needed"
    read -r major minor <<<"$version"
    if ((major < required_swift_major || (major == required_swift_major && minor < required_swift_minor))); then
        fail "Swift $major.$minor is too old; version $wanted or later is needed: https://www.swift.org/install/linux/"
    fi
}

# Sets build_flags to the flags of every build by jobs/test and jobs/demo: with other flags a build starts
# from the beginning. SWIFT_BUILD_FLAGS replaces those that are set here for speed; empty, it leaves those of
# "swift build". Sets has_postgres and has_mysql where PostgreSQL and MariaDB
# can be built and tested.
read_build_flags() {
    # From a clean clone these take half of the processor's time. Left out is what only debuggers and editors
    # read. A Swift module is compiled whole, and its sources are not read once for each part of it. The headers
    # of BoringSSL are a C++ module, and are not read once for each of its files.
    local flags="-debug-info-format none -Xswiftc -index-ignore-system-modules -Xswiftc -whole-module-optimization"
    flags+=" -Xswiftc -disable-batch-mode -Xswiftc -num-threads -Xswiftc $(nproc) -Xcxx -fmodules -Xcxx -fcxx-modules"
    read -ra build_flags <<<"${SWIFT_BUILD_FLAGS-$flags}"
    if [[ ! -v SWIFT_BUILD_FLAGS ]]; then
        # Package.swift reads it, and says which modules.
        export TRUEUP_OPTIMIZED=yes
        # Of its own, because a path may hold spaces.
        build_flags+=(-Xcxx "-fmodules-cache-path=$PWD/.build/cxx-modules")
    fi
    local traits=()
    has_postgres=
    if { has_header libpq-fe.h || has_header postgresql/libpq-fe.h; } \
        && Tests/PostgresDatabaseTests/server find >/dev/null 2>&1; then
        has_postgres=yes
        traits+=(PostgreSQL)
    fi
    has_mysql=
    if has_header mariadb/mysql.h && Tests/MySQLDatabaseTests/server find >/dev/null 2>&1; then
        has_mysql=yes
        traits+=(MySQL)
    fi
    ((${#traits[@]} == 0)) || build_flags+=(--traits "$(IFS=,; echo "${traits[*]}")")
}
