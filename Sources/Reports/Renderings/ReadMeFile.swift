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
            header.narrowing.isEmpty ? "the whole job" : header.narrowing.joined(separator: ", ")
        let roots = source.context.trustedRoots.notice.map { "Roots: \($0)\n" } ?? ""
        return """
            Run \(header.runID) of the job \(header.job.onOneLine) (\(header.mode.rawValue)), \
            begun \(header.started.rfc3339)
            Scope: \(scope.onOneLine)
            \(roots)
            THE FILES

            JSON Lines is the canonical form: keys sorted, ids as text, times RFC 3339 in UTC, money in
            milliunits (10990 is 10.99). The CSV files are for spreadsheets: a text that would run as a
            formula has an apostrophe in front, NUL is shown as U+FFFD. Lines are counted as wc -l does.


            """
    }

    /// The commands work from inside the folder, in any shell of a Linux machine; a test runs them.
    private static let manual = #"""

        HOW TO CHECK THEM BY HAND

        Work inside this folder. Nothing but sha256sum, jq and openssl is needed.

        1. The files are as they were written:

            sha256sum -c SHA256SUMS

        2. The run stands in its chain: this number is "previous" in the manifest.json of the next run,
           and stands beside the run in ../../index.csv:

            sha256sum manifest.json
            jq -r .previous manifest.json

        3. Nobody edited the plan or the way back: each file states the digest of all its lines but the
           last.

            for file in plan.json undo.json; do
              stated=$(tail -n 1 "$file" | cut -d'"' -f4)
              [ "$(head -n -1 "$file" | sha256sum | cut -c1-64)" = "$stated" ] || echo "edited: $file"
            done

        4. The ledger's hashes hold: each is the SHA-256 of the hash before and the entry without its
           own hash.

            while IFS= read -r line; do
              before=$(printf '%s' "$line" | jq -r .ledger_previous)
              entry=$(printf '%s' "$line" | sed 's/"ledger_hash":"[0-9a-f]*",//')
              hash=$(printf '%s%s' "$before" "$entry" | sha256sum | cut -c1-64)
              [ "$hash" = "$(printf '%s' "$line" | jq -r .ledger_hash)" ] || echo "broken: $line"
            done < corrections.jsonl

        5. Apple signed what a finding or correction rests on. Take the digest from its "evidence"; the
           first payload stands here as an example. (An empty evidence.jsonl: nothing rests on any.)

            digest=$(head -n 1 evidence.jsonl | jq -r .sha256)

           (Without jq: python3 -c 'import json; print(json.loads(input())["jws"])' < evidence.jsonl)

            work=$(mktemp -d)
            jq -r --arg d "$digest" 'select(.sha256 == $d) | .jws' evidence.jsonl |
              tr -d '\n' > "$work/jws"
            [ "$(sha256sum < "$work/jws" | cut -c1-64)" = "$digest" ] || echo "other payload"

           Its three parts are base64url. The header holds the certificates, leaf first:

            part() {
              cut -d. -f"$1" "$work/jws" | tr '_-' '/+' |
                awk '{ while (length($0) % 4) $0 = $0 "="; print }' | base64 -d
            }
            part 1 > "$work/header"
            part 2 > "$work/payload"
            part 3 > "$work/signature"
            jq . "$work/payload"
            for n in 0 1 2; do
              jq -r ".x5c[$n]" "$work/header" | base64 -d |
                openssl x509 -inform DER -out "$work/$n.pem"
            done

           The chain must lead to a trusted root of manifest.json (compare the fingerprint) and hold at
           the time of signing; leaf and intermediate must carry Apple's marks:

            openssl x509 -in "$work/2.pem" -noout -fingerprint -sha256
            jq -r '.trusted_roots[].fingerprint' manifest.json
            openssl verify -attime "$(jq '.signedDate / 1000 | floor' "$work/payload")" \
              -trusted "$work/2.pem" -untrusted "$work/1.pem" "$work/0.pem"
            openssl x509 -in "$work/0.pem" -noout -text | grep -F 1.2.840.113635.100.6.11.1
            openssl x509 -in "$work/1.pem" -noout -text | grep -F 1.2.840.113635.100.6.2.1

           The signature is two numbers of 32 bytes; openssl wants them as DER:

            numbers=$(od -An -v -tx1 "$work/signature" | tr -d ' \n')
            printf 'asn1=SEQUENCE:s\n[s]\nr=INTEGER:0x%s\ns=INTEGER:0x%s\n' \
              "$(printf %s "$numbers" | cut -c1-64)" "$(printf %s "$numbers" | cut -c65-128)" \
              > "$work/asn1"
            openssl asn1parse -genconf "$work/asn1" -noout -out "$work/signature.der"
            cut -d. -f1,2 "$work/jws" | tr -d '\n' > "$work/signed"
            openssl x509 -in "$work/0.pem" -noout -pubkey > "$work/key.pem"
            openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/signature.der" \
              "$work/signed"

        """#
}
