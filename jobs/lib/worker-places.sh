# The places of jobs/test-workers: namespaces, a server, App Stores, the company's table, workers.
# Source it after common.sh, with `programs` set; it makes "$work", and takes all of it away at the end.

readonly apps=12 workers=4
readonly customers=${TRUEUP_CUSTOMERS:-200} share=${TRUEUP_SHARE:-0.2}
# The stores take an address of the loopback range, because trueup asks others than Apple's hosts only
# there; in a worker's namespace it leads over its veth pair.
readonly store_address=127.7.0.1 database_address=10.93.0.1
readonly id=tu$$
readonly server=$PWD/Tests/PostgresDatabaseTests/server
work=$(mktemp -d "${TMPDIR:-/tmp}/trueup-workers.XXXXXX")
# The server is another user.
chmod 711 "$work"
children=()

finish() {
    local child name
    for child in "${children[@]}"; do
        kill -CONT "$child" 2>/dev/null || true
        kill "$child" 2>/dev/null || true
    done
    [[ ! -d $work/pg/data ]] || "$server" stop "$work/pg"
    for name in $(ip netns list 2>/dev/null | cut -d ' ' -f 1); do
        [[ $name != "$id"-* ]] || ip netns del "$name" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT

inside() { ip netns exec "$id-$1" "${@:2}"; }

make_namespaces() {
    local k
    ip netns add "$id-hub"
    inside hub ip link set lo up
    inside hub ip addr add "$store_address/32" dev lo
    inside hub ip addr add "$database_address/32" dev lo
    for k in $(seq "$workers"); do
        ip netns add "$id-w$k"
        ip -n "$id-w$k" link add to-hub type veth peer name "w$k" netns "$id-hub"
        inside hub ip addr add "10.93.$k.1/30" dev "w$k"
        inside hub ip link set "w$k" up
        inside hub sysctl -q -w "net.ipv4.conf.w$k.route_localnet=1"
        inside "w$k" ip link set lo up
        # Of the loopback range the worker keeps one address; the stores' leads elsewhere.
        inside "w$k" ip addr del 127.0.0.1/8 dev lo
        inside "w$k" ip addr add 127.0.0.1/32 dev lo
        inside "w$k" ip addr add "10.93.$k.2/30" dev to-hub
        inside "w$k" ip link set to-hub up
        inside "w$k" sysctl -q -w net.ipv4.conf.to-hub.route_localnet=1
        inside "w$k" ip route add default via "10.93.$k.1"
        inside "w$k" ip route add "$store_address/32" via "10.93.$k.1" src "10.93.$k.2"
    done
}

start_server() {
    mkdir "$work/pg"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=trueup-test \
        -addext "subjectAltName=IP:$database_address" -keyout "$work/pg/tls.key" -out "$work/pg/tls.pem" \
        2>/dev/null
    chmod 600 "$work/pg/tls.key"
    chown "${TRUEUP_POSTGRES_USER:-postgres}" "$work/pg/tls.key"
    local tls="-c ssl=on -c ssl_cert_file=$work/pg/tls.pem -c ssl_key_file=$work/pg/tls.key"
    TRUEUP_POSTGRES_OPTIONS="-c listen_addresses=$database_address $tls" \
        inside hub "$server" start "$work/pg"
    echo "hostssl all trueup 10.93.0.0/16 trust" >>"$work/pg/data/pg_hba.conf"
    query postgres -c "SELECT pg_reload_conf()" >/dev/null
}
# As the company does it itself: DATABASE ARGUMENTS-OF-PSQL.
query() { psql -h "$work/pg" -U trueup -AtXq -v ON_ERROR_STOP=1 -d "$@"; }

start_stores() {
    local a
    for a in $(seq "$apps"); do
        cat >"$work/app$a.yaml" <<YAML
bundle_id: com.example.app$a
app_apple_id: $((1000000000 + a))
storefronts:
  - {country: USA, id: "143441", currency: USD}
groups:
  - id: "21500001"
    products:
      - {id: com.example.app$a.plus, level: 1, period: P1M, prices: {USA: 9.99}}
      - {id: com.example.app$a.basic, level: 2, period: P1M, prices: {USA: 1.99}}
YAML
        # What is planted in the rows of one app alone: the rest shows only to who sees several.
        inside hub "$programs/appstore-simulator" --folder "$work/app$a" --bind "$store_address" \
            --catalogue "$work/app$a.yaml" --customers "$((apps * customers))" --seed "$a" --drift 0.1 \
            --drift-kinds revocation_missed,access_missing,access_unpaid,status,expiry,product,missing_locally,not_found \
            >"$work/ready$a" 2>"$work/store$a.log" &
        children+=($!)
    done
    for a in $(seq "$apps"); do
        for _ in $(seq 1200); do
            grep -q '^READY ' "$work/ready$a" && break
            kill -0 "${children[a - 1]}" 2>/dev/null \
                || { cat "$work/store$a.log" >&2; fail "a simulated App Store did not start"; }
            sleep 0.1
        done
    done
}
# A member of an app's READY line: APP NAME.
ready() { sed -n "s/^READY .*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p" "$work/ready$1" | sed 's#\\/#/#g'; }
# A control call that reads, and one that changes something: APP PATH [BODY].
control() { inside hub curl -sS --fail --noproxy '*' --max-time 60 "$(ready "$1" control)$2"; }
change() {
    inside hub curl -sS --fail --noproxy '*' --max-time 60 -o /dev/null -d "${3:-}" "$(ready "$1" control)$2"
}

# The company's table: every column of the stores' rows, and one of its own that nobody maps.
describe_table() {
    local name type
    declared='' mapped=''
    for name in $(head -n 1 "$(ready 1 table_file)" | tr -d '\r' | tr , ' '); do
        type=text
        case $name in
            expires_date | grace_period_expires_date | revocation_date | signed_date) type=timestamptz ;;
            status | auto_renew_status) type=smallint ;;
        esac
        declared+="\"c $name\" $type, "
        # When Apple signed is another moment each night; all else must be the same.
        [[ $name != signed_date ]] || continue
        if [[ $type == timestamptz ]]; then
            mapped+="$name: {column: \"c $name\", form: timestamptz}, "
        else
            mapped+="$name: \"c $name\", "
        fi
    done
}
# A database with the rows of apps: NAME APP…
make_database() {
    local a
    query postgres -c "CREATE DATABASE $1"
    query "$1" -c "CREATE TABLE subs (${declared}PRIMARY KEY (\"c bundle_id\", \"c environment\", \"c original_transaction_id\"))"
    for a in "${@:2}"; do
        query "$1" -c "\\copy subs FROM '$(ready "$a" table_file)' CSV HEADER"
        # Apple gives no id twice; each of these stores counts its own from the same number. So the
        # company has of each app other customers.
        query "$1" -c "DELETE FROM subs WHERE \"c bundle_id\" = 'com.example.app$a'
            AND coalesce(substring(\"c customer_id\" FROM '[0-9]+$'), '0')::bigint % $apps <> $a - 1"
    done
    query "$1" -c "ALTER TABLE subs ADD note text DEFAULT 'theirs'"
}
# The rows as bytes: DATABASE [APP].
rows() {
    query "$1" -c "COPY (SELECT * FROM subs WHERE \"c bundle_id\" = 'com.example.app${2:-}' OR '${2:-}' = ''
        ORDER BY \"c bundle_id\" COLLATE \"C\", \"c environment\", \"c original_transaction_id\" COLLATE \"C\") TO STDOUT"
}

# A worker's folder: NAME DATABASE.
make_worker() {
    local place=$work/$1 a
    mkdir -p "$place/jobs"
    {
        echo "apps:"
        for a in $(seq "$apps"); do
            cat <<YAML
  - bundle_id: $(ready "$a" bundle_id)
    app_apple_id: $(ready "$a" app_apple_id)
    environment: production
    issuer_id: $(ready "$a" issuer_id)
    key_id: $(ready "$a" key_id)
    key_file: $(ready "$a" key_file)
    endpoint: $(ready "$a" endpoint)
    ca_file: $(ready "$a" ca_file)
    trusted_roots: [$(ready "$a" root_file)]
    quota_share: $share
YAML
        done
        cat <<YAML
store:
  url: postgres://trueup@$database_address/$2?sslrootcert=$work/pg/tls.pem
  books: postgres:$1
  subscriptions:
    table: subs
    columns: {${mapped%, }}
    insert: {note: inserted}
report:
  directory: reports
YAML
    } >"$place/trueup.yaml"
    cat >"$place/jobs/nightly.yaml" <<'YAML'
# Not recover: the stores tell of customers that the company does not have.
steps: [walk]
mode: apply
coverage: full
settle: 0s
fail_on: none
guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1, max_same_direction_share: 1, max_excluded_share: 1}
YAML
    cp "$place/jobs/nightly.yaml" "$place/jobs/second.yaml"
    (cd "$place" && inside hub "$programs/trueup" init --quiet >/dev/null)
}
# Starts trueup in a namespace and a folder, and tells its number as "$started": NAMESPACE FOLDER ARGUMENTS…
start() {
    local namespace=$1 place=$work/$2
    shift 2
    (
        cd "$place"
        # shellcheck disable=SC2016
        ip netns exec "$id-$namespace" bash -c 'echo $$ >pid; exec "$@"' - "$programs/trueup" "$@" \
            >output 2>errors && status=0 || status=$?
        echo "$status" >status
    ) &
    started=$!
}
# Whether a run did its work: FOLDER.
went_well() {
    [[ $(<"$work/$1/status") == [025] ]] && return 0
    tail -n 20 "$work/$1/errors" "$work/$1/output" >&2
    return 1
}
# --app for each of some apps.
of_apps() { printf -- '--app com.example.app%s/production ' "$@"; }
