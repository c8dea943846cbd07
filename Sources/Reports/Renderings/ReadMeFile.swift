import Subscriptions

extension ReportFile {
    static let readMe = ReportFile(
        name: "README.txt", purpose: "this page"
    ) { source, file in
        try file.write(head(of: source))
        let others: [(String, String)] = [
            (log, "the structured log of the run"),
            (manifest, "every file with digest, bytes and lines; apps, trusted roots, chain"),
            (sums, "every file with its digest, for sha256sum"),
        ]
        let files = all.map { ($0.name, $0.purpose) } + others
        for (name, purpose) in files {
            let lines = purpose.wrapped(
                to: SummaryText.columns, firstMargin: "  \(name.padded(to: 20))  ",
                margin: String(repeating: " ", count: 24))
            try file.write(lines.joined(separator: "\n") + "\n")
        }
        try file.write(manual)
    }

    private static func head(of source: ReportSource) -> String {
        let header = source.summary.header
        let scope =
            header.filters.isEmpty ? "the whole job" : header.filters.joined(separator: ", ")
        let roots = source.context.trustedRoots.notice.map { "Roots: \($0)\n" } ?? ""
        return """
            Run \(header.runID) of the job \(header.job.onOneLine) (\(header.mode.rawValue)), \
            begun \(header.started.rfc3339)
            Scope: \(scope.onOneLine)
            \(roots)
            THE FILES

            People begin with report.html or summary.txt. To sort and filter findings, open
            discrepancies.xlsx: ids stay text, amounts are numbers in units of their currency. Programs
            read the JSON Lines (.jsonl), the canonical form: keys sorted, ids as text, times RFC 3339
            in UTC, money in milliunits (10990 is 10.99). The CSV files have the same values for other
            tools: "amount" and "amount_milliunits" are milliunits; a text that would run as a formula
            has an apostrophe in front, NUL is shown as U+FFFD. Import their ids as text: a spreadsheet
            rounds long numbers. Lines are counted as wc -l does.

            A list of more than a mebibyte is packed with gzip, and its name ends in .gz: zcat shows it.
            SHA256SUMS and manifest.json have the digest of the packed file.


            """
    }

    /// The commands work from inside the folder, in any shell of a Linux machine; a test runs them.
    private static let manual = #"""

        HOW TO CHECK THEM BY HAND

        Work inside this folder, in any shell; where files are packed, in a copy of it, after
        "gunzip *.gz". Nothing but sha256sum, openssl and the tools of every
        Unix is needed: no key, no network, no database. "trueup verify ." does all of this and more;
        "trueup verify" on the folder with all runs also follows the chain from run to run.

        1. The files are as they were written:

            sha256sum -c SHA256SUMS

        2. The run is in its chain: this number is "previous" in the manifest.json of the next run, and
           is in the line of the run in ../../index.csv. A folder alone cannot show that it was replaced
           as a whole; the number can, if it was written down in another place on the day.

            sha256sum manifest.json
            grep '"previous"' manifest.json

        3. The plan and its inverse were not edited: each file states the digest of all its lines but the
           last.

            for file in plan.json undo.json; do
              stated=$(tail -n 1 "$file" | cut -d'"' -f4)
              [ "$(head -n -1 "$file" | sha256sum | cut -c1-64)" = "$stated" ] || echo "edited: $file"
            done

        4. The ledger's hashes hold: each is the SHA-256 of the hash before and the entry without its
           own hash. The last one is "ledger_head" in manifest.json.

            while IFS= read -r line; do
              before=$(printf '%s' "$line" | sed 's/.*"ledger_previous":"\([0-9a-f]*\)".*/\1/')
              stated=$(printf '%s' "$line" | sed 's/.*"ledger_hash":"\([0-9a-f]*\)".*/\1/')
              entry=$(printf '%s' "$line" | sed 's/"ledger_hash":"[0-9a-f]*",//')
              hash=$(printf '%s%s' "$before" "$entry" | sha256sum | cut -c1-64)
              [ "$hash" = "$stated" ] || echo "broken: $line"
            done < corrections.jsonl

        5. Apple signed what a finding or correction rests on: its "evidence" (for the renewal
           preference "evidence_renewal") is the digest of a payload in evidence.jsonl. This checks
           one; read on for what it does.

            part() {
              cut -d. -f"$1" "$work/jws" | tr '_-' '/+' |
                awk '{ while (length($0) % 4) $0 = $0 "="; print }' | base64 -d
            }
            check() {
              work=$(mktemp -d)
              grep -F "\"sha256\":\"$1\"}" evidence.jsonl | cut -d'"' -f4 | tr -d '\n' > "$work/jws"
              [ "$(sha256sum < "$work/jws" | cut -c1-64)" = "$1" ] || echo "other payload: $1"
              part 1 | tr -d ' \\' | sed 's/.*"x5c":\["//; s/"\].*//; s/"//g' > "$work/chain"
              part 2 > "$work/payload"
              part 3 > "$work/signature"
              for n in 1 2 3; do
                cut -d, -f"$n" "$work/chain" | base64 -d |
                  openssl x509 -inform DER -out "$work/$n.pem"
              done
              at=$(tr -d ' ' < "$work/payload" | tr ',{}' '\n\n\n' |
                sed -n 's/^"signedDate":\([0-9]*\)[0-9][0-9][0-9]$/\1/p')
              openssl verify -attime "$at" -trusted "$work/3.pem" -untrusted "$work/2.pem" \
                "$work/1.pem"
              openssl x509 -in "$work/1.pem" -noout -text | grep -F 1.2.840.113635.100.6.11.1
              openssl x509 -in "$work/2.pem" -noout -text | grep -F 1.2.840.113635.100.6.2.1
              numbers=$(od -An -v -tx1 "$work/signature" | tr -d ' \n')
              printf 'asn1=SEQUENCE:s\n[s]\nr=INTEGER:0x%s\ns=INTEGER:0x%s\n' \
                "$(printf %s "$numbers" | cut -c1-64)" "$(printf %s "$numbers" | cut -c65-128)" \
                > "$work/asn1"
              openssl asn1parse -genconf "$work/asn1" -noout -out "$work/signature.der"
              cut -d. -f1,2 "$work/jws" | tr -d '\n' > "$work/signed"
              openssl x509 -in "$work/1.pem" -noout -pubkey > "$work/key.pem"
              openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/signature.der" \
                "$work/signed"
              openssl x509 -in "$work/3.pem" -noout -fingerprint -sha256 | cut -d= -f2 |
                tr -d : | tr A-F a-f
              cat "$work/payload"
              echo
              rm -r "$work"
            }

           The payload has three parts in base64url. The first holds the certificates, leaf first:
           the chain must lead to the root and have been valid when the payload was signed
           ("1.pem: OK"), and leaf and intermediate carry Apple's marks. The third is the signature,
           two numbers of 32 bytes, which openssl wants as DER; it is over the other two
           ("Verified OK"). The root must be one that you trust. Apple Root CA - G3 has the fingerprint

            # 63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179

           (compare it with the one that Apple publishes); any other root is a rehearsal's, whatever
           manifest.json says of it. The last lines are what Apple says; compare them with the "after"
           of the correction. Times are milliseconds since 1970. The first payload of this folder (an empty
           evidence.jsonl: nothing rests on any), then all of them:

            digests() { grep -v '^{"erased_at"' evidence.jsonl | sed 's/.*"sha256":"\([0-9a-f]*\)".*/\1/'; }
            check "$(digests | head -n 1)"
            digests | while read -r digest; do check "$digest"; done

           A payload that a finding of the kind verification_failed names does not pass, which is what
           that finding says. A line with "erased_at" is the tombstone of a payload that was erased on
           purpose before this report was written: its digest is all that is left.

        6. A corrected status follows from signed fields: Apple signs no status, its number is only next
           to the two payloads. The first of these that holds gives it:

           5 revoked        revocationDate is stated, and revocationType is not REFUND_PRORATED
           4 grace period   gracePeriodExpiresDate is after signedDate
           3 billing retry  isInBillingRetryPeriod is true
           2 expired        isUpgraded is true: another transaction has taken its place
           1 active         expiresDate, or renewalDate, is after signedDate
           2 expired        otherwise

           signedDate is the later one of the two payloads. derivations.jsonl has a line for each such
           correction with the fields and what they give, "derived_status". Where that is another number
           than "status", the fields allow both, and Apple's unsigned number decided: it never takes
           away access that the fields state, nor gives what they deny. This takes the number of one
           line of corrections.jsonl, its "ledger_entry", to Apple's signature and to the fields; then
           it is done for the first one (none: no status was corrected).

            stated() {
              sed -n '/^{/,$p' | tr -d ' ' | tr ',{}' '\n\n\n' | tr -d '"' | while IFS=: read -r name value
              do
                case $name in
                  *Date) at=$(date -u -d "@${value%???}" +%Y-%m-%dT%H:%M:%S)
                    echo "$name $at.${value#"${value%???}"}Z" ;;
                  revocationType | isUpgraded | isInBillingRetryPeriod) echo "$name $value" ;;
                esac
              done
            }
            status() {
              line=$(grep -F "\"ledger_entry\":$1," corrections.jsonl)
              for name in evidence evidence_renewal; do
                digest=$(printf '%s' "$line" | sed "s/.*\"$name\":\"\([0-9a-f]*\)\".*/\1/")
                checked=$(check "$digest")
                printf '%s\n' "$checked"
                printf '%s\n' "$checked" | stated
              done
              grep -F "\"ledger_entry\":$1," derivations.jsonl
            }
            sed -n '/"fields":{/s/.*"ledger_entry":\([0-9]*\),.*/\1/p' derivations.jsonl |
              head -n 1 | while read -r entry; do status "$entry"; done

        WHAT NO CHECK OF THIS FOLDER CAN SHOW

        Apple signs what Apple says. It does not sign what this database held or what the run did. A person
        who can write to this folder can compute every digest again, and so exchange these values of the
        newest run unseen, unless a digest was noted elsewhere ("trueup verify --anchor DIGEST"):

        - of a finding: "cause", "first_seen", "finding_id", "severity", "direction", "action" and "state"
          (only held against each other and the totals of summary.json), "local_value", "local_as_of",
          "customer_id" and, where the row held one, "product_id"; whether a payload is named at all; the
          other subscription of overlapping_subscriptions and resurrected;
        - findings without a payload: not_found, account_not_found, duplicate_local, transaction_unknown,
          purchase_unknown, unreadable_value, seat_member, most of invalid_id; and why a payload of
          verification_failed does not pass;
        - undecided.csv: which rows it lists, and for which reason (only the totals are held);
        - not_found.csv: everything but the ids, which discrepancies.jsonl lists too;
        - unowned.csv: everything but the changed tokens, which discrepancies.jsonl lists too, and the
          counts;
        - corrections.jsonl: "before", "reason", "actor", "host", "written_at";
        - when a payload of a tombstone was erased, and why;
        - summary.txt, report.html, discrepancies.xlsx, notifications.csv, entitlements.csv,
          run.log.jsonl, this file, and what summary.json says besides the totals.

        """#
}
