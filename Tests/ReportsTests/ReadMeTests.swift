import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `README.txt` {
    /// Makes a chain of Apple's shape with openssl, and a payload signed by its leaf.
    static let signing = #"""
        cat > config <<'END'
        [req]
        distinguished_name = name
        [name]
        [root]
        basicConstraints = critical,CA:TRUE
        keyUsage = critical,keyCertSign,cRLSign
        [intermediate]
        basicConstraints = critical,CA:TRUE,pathlen:0
        keyUsage = critical,keyCertSign,cRLSign
        1.2.840.113635.100.6.2.1 = ASN1:NULL
        [leaf]
        keyUsage = critical,digitalSignature
        1.2.840.113635.100.6.11.1 = ASN1:NULL
        END
        openssl ecparam -name secp384r1 -genkey -noout -out root.key
        openssl ecparam -name secp384r1 -genkey -noout -out intermediate.key
        openssl ecparam -name prime256v1 -genkey -noout -out leaf.key
        openssl req -new -x509 -sha384 -key root.key -subj /CN=Root -days 30 -config config \
          -extensions root -out root.pem
        openssl req -new -key intermediate.key -subj /CN=Intermediate -config config -out i.csr
        openssl x509 -req -in i.csr -CA root.pem -CAkey root.key -set_serial 2 -days 30 -sha384 \
          -extfile config -extensions intermediate -out intermediate.pem
        openssl req -new -key leaf.key -subj /CN=Leaf -config config -out l.csr
        openssl x509 -req -in l.csr -CA intermediate.pem -CAkey intermediate.key -set_serial 3 \
          -days 30 -sha384 -extfile config -extensions leaf -out leaf.pem
        url() { base64 -w 0 | tr '+/' '-_' | tr -d '='; }
        der() { openssl x509 -in "$1.pem" -outform DER | base64 -w 0; }
        header=$(printf '{"alg":"ES256","x5c":["%s","%s","%s"]}' \
          "$(der leaf)" "$(der intermediate)" "$(der root)" | url)
        payload=$(printf '{"bundleId":"com.example.app","signedDate":%s000}' "$(date +%s)" | url)
        printf '%s.%s' "$header" "$payload" > signed
        openssl dgst -sha256 -sign leaf.key -out signature.der signed
        numbers=$(openssl asn1parse -inform DER -in signature.der | sed -n 's/.*INTEGER *://p')
        for n in $numbers; do printf '%64s' "$n"; done | tr ' ' 0 | xxd -r -p > signature
        printf '%s.%s' "$(cat signed)" "$(url < signature)" > jws
        openssl x509 -in root.pem -noout -fingerprint -sha256 | cut -d= -f2 | tr -d : |
          tr A-F a-f | tr -d '\n' > fingerprint
        """#

    /// Signs a transaction and a renewal info by the leaf that `signing` made.
    static let signingBoth = #"""
        sign() {
          printf '%s.%s' "$header" "$(printf '%s' "$1" | url)" > signed
          openssl dgst -sha256 -sign leaf.key -out signature.der signed
          numbers=$(openssl asn1parse -inform DER -in signature.der | sed -n 's/.*INTEGER *://p')
          for n in $numbers; do printf '%64s' "$n"; done | tr ' ' 0 | xxd -r -p > signature
          printf '%s.%s' "$(cat signed)" "$(url < signature)"
        }
        at=$(date +%s)
        sign '{"expiresDate":4102444800123,"signedDate":'"$at"'000,"transactionId":"9"}'           > transaction
        sign '{"isInBillingRetryPeriod":false,"renewalDate":4102444800000,"signedDate":'"$at"'000}'           > renewal
        """#

    /// The commands of the page: what is set in by four columns or more after the heading.
    static func commands(of text: String) throws -> String {
        let start = try #require(text.range(of: "HOW TO CHECK THEM BY HAND"))
        return text[start.upperBound...].split(separator: "\n").filter { $0.hasPrefix("    ") }
            .joined(separator: "\n")
    }

    private func report(in folder: TemporaryFolder, jws: String) throws -> FinishedReport {
        var run = try Samples.run()
        run.evidence = [
            SignedPayload(digest: EvidenceDigest(hexadecimal: try sha256(jws)), jws: jws)
        ]
        var context = Samples.context
        context.trustedRoots = [
            TrustedRoot(
                fingerprint: try folder.text("fingerprint"), isApple: false,
                certificatePEM: try folder.text("root.pem"))
        ]
        return try folder.report(run, context: context)
    }

    private static let toolsAreHere =
        (try? shell("command -v openssl xxd sha256sum", in: "/"))?.status == 0

    @Test(.enabled(if: toolsAreHere, "needs openssl and xxd"))
    func `its commands verify a good folder`() throws {
        let folder = try TemporaryFolder()
        let made = try shell(Self.signing, in: folder.path)
        try #require(made.status == 0, "\(made.output)")
        let report = try report(in: folder, jws: try folder.text("jws"))
        let commands = try Self.commands(of: try folder.text("latest/README.txt"))
        let result = try shell(commands, in: report.path)
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("summary.json: OK"), "\(result.output)")
        #expect(result.output.contains("1.pem: OK"), "\(result.output)")
        #expect(result.output.contains("Verified OK"), "\(result.output)")
        #expect(result.output.contains("com.example.app"))
        #expect(!commands.contains("jq"), "the page promises to need no more than it names")
        #expect(result.output.contains(try folder.text("fingerprint")))
        for word in ["broken", "edited", "other payload"] {
            #expect(!result.output.contains(word), "\(result.output)")
        }
    }

    @Test(.enabled(if: toolsAreHere, "needs openssl and xxd"))
    func `its commands lead from a corrected status to the fields that Apple signed`() throws {
        let folder = try TemporaryFolder()
        let made = try shell(Self.signing + "\n" + Self.signingBoth, in: folder.path)
        try #require(made.status == 0, "\(made.output)")
        let payloads = try ["transaction", "renewal"].map { name in
            let jws = try folder.text(name)
            return SignedPayload(digest: EvidenceDigest(hexadecimal: try sha256(jws)), jws: jws)
        }
        var update = Samples.update
        update.evidence = payloads[0].digest
        update.evidenceRenewal = payloads[1].digest
        var run = try Samples.run()
        var entry = LedgerEntry(
            number: 1, previousHash: LedgerEntry.firstPreviousHash, runID: Samples.header().runID,
            correction: update, writtenAt: Samples.started, actor: "job@host")
        entry.hash = try sha256(entry.previousHash + entry.canonicalWithoutHash.rendered)
        run.corrections = [entry]
        run.evidence = payloads.sorted { $0.digest.hexadecimal < $1.digest.hexadecimal }
        let report = try folder.report(run)
        let line = try folder.text("latest/derivations.jsonl")
        #expect(line.contains("\"derived_status\":1,"), "\(line)")
        #expect(line.contains("status 1: expiresDate is after signedDate (signedDate "))
        let commands = try Self.commands(of: try folder.text("latest/README.txt"))
        let result = try shell(commands, in: report.path)
        #expect(result.status == 0, "\(result.output)")
        for stated in [
            "\nexpiresDate 2100-01-01T00:00:00.123Z\n", "\nrenewalDate 2100-01-01T00:00:00.000Z\n",
            "\nisInBillingRetryPeriod false\n",
        ] {
            #expect(result.output.contains(stated), "\(result.output)")
        }
        #expect(result.output.hasSuffix(line), "\(result.output)")
        let table = try folder.text("latest/corrections.csv").split(separator: "\r\n")
        let status = try #require(table.first { $0.contains(",status,2,1,") })
        #expect(status.contains("\"status 1: expiresDate is after signedDate ("), "\(status)")
    }

    @Test(.enabled(if: toolsAreHere, "needs openssl and xxd"))
    func `its commands find a payload that was not signed`() throws {
        let folder = try TemporaryFolder()
        let made = try shell(Self.signing, in: folder.path)
        try #require(made.status == 0, "\(made.output)")
        var parts = try folder.text("jws").split(separator: ".").map(String.init)
        parts[1] = Data(#"{"bundleId":"com.evil.app","signedDate":4102444800000}"#.utf8)
            .base64EncodedString().replacing("=", with: "")
        let report = try report(in: folder, jws: parts.joined(separator: "."))
        // Dated to when the chain holds, so that nothing but the signature can fail.
        let commands = try Self.commands(of: try folder.text("latest/README.txt"))
            .replacing("-attime \"$at\"", with: "-attime $(date +%s)")
        let result = try shell(commands, in: report.path)
        #expect(result.status != 0, "\(result.output)")
        #expect(!result.output.contains("Verified OK"), "\(result.output)")
    }

    @Test(.enabled(if: toolsAreHere, "needs openssl and xxd"))
    func `its commands find an edited plan and a broken ledger`() throws {
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        run.corrections[1].hash = Samples.digest
        let report = try folder.report(run)
        let plan = try folder.text("latest/plan.json")
        try folder.write(
            plan.replacing("\"expected_row_version\":4", with: "\"expected_row_version\":5"),
            to: "latest/plan.json")
        let commands = try Self.commands(of: try folder.text("latest/README.txt"))
        let start = try #require(commands.range(of: "    for file in"))
        let end = try #require(commands.range(of: "    part()"))
        let result = try shell(
            String(commands[start.lowerBound..<end.lowerBound]), in: report.path)
        #expect(result.output.contains("edited: plan.json\n"))
        #expect(!result.output.contains("edited: undo.json"))
        let broken = result.output.split(separator: "\n").filter { $0.hasPrefix("broken: ") }
        #expect(broken.count == 1)
        #expect(broken.allSatisfy { $0.contains("\"ledger_entry\":2,") })
    }

    @Test func `names every file of the folder and any narrowing`() throws {
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        run.runSummary.header.filters = ["limit 100", "shard 1/4"]
        _ = try folder.report(run)
        let text = try folder.text("latest/README.txt")
        for name in try folder.names(in: "latest") { #expect(text.contains("\n  \(name) ")) }
        #expect(text.contains("\nScope: limit 100, shard 1/4\n"))
        #expect(text.split(separator: "\n").filter { $0.count > 100 }.map(String.init) == [])
    }
}
