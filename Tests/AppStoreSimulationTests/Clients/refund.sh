#!/bin/sh
# Sees a refund with curl. Usage: refund.sh READY.json (the line that the simulator prints, without
# its first word)
set -eu
ready() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$2"; }
control=$(ready control "$1")
endpoint=$(ready endpoint "$1")
ca=$(ready ca_file "$1")

look() {
    answer=$(curl --silent --fail --cacert "$ca" \
        --header "Authorization: Bearer $(curl --silent --fail "$control/_simulator/token")" \
        "$endpoint/inApps/v1/subscriptions/$id")
    echo "$answer" | sed 's/.*"status":\([0-9]\).*/status \1/'
}

id=$(curl --silent --fail "$control/_simulator/customers" |
    sed 's/.*"original_transaction_id":"\([0-9]*\)".*/\1/')
look
curl --silent --fail -X POST --data '{"days": 2}' "$control/_simulator/advance" >/dev/null
look
