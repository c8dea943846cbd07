import Foundation
import GRDB
import Subscriptions

/// Signed payloads as received, kept by digest.
///
/// Apple's header segment with its certificates is four fifths of a payload and nearly always the
/// same, so it is kept once; payload and signature are kept as bytes. What is given back is the
/// exact text, checked against its digest.
final class EvidenceVault {
    private let db: Database
    /// The header of the last payload: nearly always that of the next one as well.
    ///
    /// A vault lives no longer than a transaction, so nothing of it is undone beneath it.
    private var lastHeader: (segment: Data, id: Int64)?
    /// The app of the last payload.
    private var lastApp: (bundleID: String, environment: String, id: Int64)?

    init(db: Database) { self.db = db }

    func store(_ payload: SignedPayload, of app: (bundleID: String, environment: String)) throws {
        let digest = payload.digest.hexadecimal
        // An erased one stays erased: its tombstone is a digest too.
        guard try !db.holds("trueup_evidence WHERE digest = ?", [digest]) else { return }
        let text = Data(payload.jws.utf8)
        // Nor does an erased one come back inside another, for example inside a notification.
        let decoded = CompactPayload.Decoded(text)
        for inner in decoded.map(CompactPayload.digests) ?? [] {
            let tombstone = try tombstone(EvidenceDigest(hexadecimal: inner))
            if let tombstone, tombstone.reason == EvidenceErasure.Reason.customer.rawValue {
                return try insertTombstone(
                    digest, at: tombstone.erasedAt, because: tombstone.reason)
            }
        }
        let compact = decoded.flatMap { CompactPayload(text, $0) }
        let header = try compact.map { try headerID(of: $0.header) }
        try db.executeCached(
            """
            INSERT INTO trueup_evidence (
                digest, header_id, rest, cuts, app_id, received_bytes)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                digest, header, compact?.rest ?? text,
                compact.map { $0.cuts.map(String.init).joined(separator: ",") },
                try appID(of: app), text.count,
            ])
    }

    /// Inserts the tombstone of a payload that is not kept.
    func insertTombstone(_ digest: String, at time: Timestamp, because reason: String) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_evidence (digest, rest, cuts, erased_at, erased_because)
            VALUES (?, x'', '', ?, ?) ON CONFLICT (digest) DO NOTHING
            """, [digest, time.unixMilliseconds, reason])
    }

    /// The tombstone of an erased payload; `nil` where nothing was erased.
    func tombstone(_ digest: EvidenceDigest) throws -> EvidenceTombstone? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT erased_at, erased_because FROM trueup_evidence
                WHERE digest = ? AND erased_at IS NOT NULL
                """)
        guard let row = try Row.fetchOne(statement, arguments: [digest.hexadecimal]),
            let erasedAt = row.time(at: 0)
        else { return nil }
        return EvidenceTombstone(
            digest: digest, erasedAt: erasedAt, reason: row.text(at: 1) ?? "customer")
    }

    private func headerID(of segment: Data) throws -> Int64 {
        if let header = lastHeader, header.segment == segment { return header.id }
        let digest = Hexadecimal.sha256(of: segment)
        let id = try storedID(
            "SELECT header_id FROM trueup_evidence_headers WHERE digest = ?", [digest],
            orBy: "INSERT INTO trueup_evidence_headers (digest, segment) VALUES (?, ?)",
            [digest, segment])
        lastHeader = (segment, id)
        return id
    }

    private func appID(of app: (bundleID: String, environment: String)) throws -> Int64 {
        if let known = lastApp, (known.bundleID, known.environment) == app { return known.id }
        let names: StatementArguments = [app.bundleID, app.environment]
        let id = try storedID(
            "SELECT app_id FROM trueup_evidence_apps WHERE bundle_id = ? AND environment = ?",
            names,
            orBy: "INSERT INTO trueup_evidence_apps (bundle_id, environment) VALUES (?, ?)", names)
        lastApp = (app.bundleID, app.environment, id)
        return id
    }

    /// The number of a line that a query finds; it is inserted where there is none.
    private func storedID(
        _ query: String, _ key: StatementArguments, orBy insert: String,
        _ values: StatementArguments
    ) throws -> Int64 {
        let find = try db.cachedStatement(sql: query)
        if let id = try Int64.fetchOne(find, arguments: key) { return id }
        try db.executeCached(insert, values)
        return db.lastInsertedRowID
    }

    /// Whether a payload is stored and was not erased.
    func holds(_ digest: EvidenceDigest) throws -> Bool {
        try db.holds(
            "trueup_evidence WHERE digest = ? AND erased_at IS NULL", [digest.hexadecimal])
    }

    /// The payload of a digest, put together again and checked against it.
    ///
    /// `nil` when it was never stored, or has been erased.
    func payload(_ digest: EvidenceDigest) throws -> SignedPayload? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT h.segment, e.rest, e.cuts, e.erased_at IS NOT NULL
                FROM trueup_evidence AS e
                LEFT JOIN trueup_evidence_headers AS h ON h.header_id = e.header_id
                WHERE e.digest = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [digest.hexadecimal]),
            row.integer(at: 3) != 1
        else { return nil }
        let header: Data = row[0] ?? Data()
        let rest: Data = row[1] ?? Data()
        let text =
            row.text(at: 2).map { cuts in
                CompactPayload(
                    header: header, rest: rest,
                    cuts: cuts.split(separator: ",").compactMap { Int($0) }
                ).text
            } ?? header + rest
        guard Hexadecimal.sha256(of: text) == digest.hexadecimal else {
            throw StoreError.inconsistent(
                "The stored evidence \(digest) no longer has this digest: the database was changed "
                    + "or is damaged. Restore a backup.")
        }
        return SignedPayload(digest: digest, jws: String(decoding: text, as: UTF8.self))
    }
}

extension SignedPayload {
    /// The transaction that it states; `nil` for other payloads.
    var transactionID: String? {
        guard let decoded = CompactPayload.Decoded(Data(jws.utf8)),
            let object = try? JSONSerialization.jsonObject(with: decoded.payload)
        else { return nil }
        return (object as? [String: Any])?["transactionId"] as? String
    }
}

/// A compact JWS without what can be put back: base64url, and Apple's constant header segment.
///
/// A notification carries further payloads with the same header inside its own, so the segment is
/// cut out of the decoded payload too. The exact text can be rebuilt; a text for which that would
/// not hold is refused here and kept as it is.
struct CompactPayload {
    /// The header segment, as text.
    let header: Data
    /// The decoded payload without its cuts, then the 64 bytes of the signature.
    let rest: Data
    /// Where the header segment was cut out of the decoded payload, in the order of the text.
    let cuts: [Int]

    private static let signatureBytes = 64
    private static let dot = UInt8(ascii: ".")

    /// A text of three parts with its payload decoded, which is all that can be read from some.
    struct Decoded {
        fileprivate let segments: JWSSegments
        fileprivate let payload: Data

        /// `nil` where there are not three parts, or the payload is not base64url.
        init?(_ jws: Data) {
            guard let segments = JWSSegments([UInt8](jws)),
                let payload = [UInt8](lenientBase64: segments.payload)
            else { return nil }
            self.segments = segments
            self.payload = Data(payload)
        }
    }

    /// The digests of the payloads that one carries inside its own.
    static func digests(insideOf jws: Decoded) -> [String] {
        texts(insideOf: jws).map { Hexadecimal.sha256(of: $0) }
    }

    /// The original transaction ids that a payload, and those inside it, are about.
    static func originalIDs(in jws: Decoded) -> Set<String> {
        let inner = texts(insideOf: jws).compactMap { Decoded($0)?.payload }
        return Set(
            ([jws.payload] + inner).compactMap { payload in
                let named = try? JSONDecoder().decode(NamedPayload.self, from: payload)
                return named?.originalTransactionId
            })
    }

    private struct NamedPayload: Decodable {
        var originalTransactionId: String?
    }

    private static func texts(insideOf jws: Decoded) -> [Data] {
        let payload = jws.payload
        let opening = Data(jws.segments.header + [dot])
        guard payload.count >= opening.count else { return [] }
        var texts: [Data] = []
        var position = payload.startIndex
        while let found = payload.range(of: opening, in: position..<payload.endIndex) {
            let rest = payload[found.lowerBound...]
            let inner = rest.prefix { $0 != UInt8(ascii: "\"") }
            texts.append(inner)
            position = max(inner.endIndex, found.upperBound)
        }
        return texts
    }

    /// Takes the parts of a text that has been decoded; `nil` when rebuilding would not give the
    /// very same bytes.
    init?(_ jws: Data, _ decoded: Decoded) {
        guard let signature = [UInt8](lenientBase64: decoded.segments.signature),
            signature.count == Self.signatureBytes
        else { return nil }
        header = Data(decoded.segments.header)
        (rest, cuts) = Self.cut(
            header + [Self.dot], outOf: decoded.payload, andAppend: signature)
        guard text == jws else { return nil }
    }

    init(header: Data, rest: Data, cuts: [Int]) {
        self.header = header
        self.rest = rest
        self.cuts = cuts
    }

    /// The text as received.
    var text: Data {
        let end = rest.endIndex - min(Self.signatureBytes, rest.count)
        var payload = Data()
        var position = rest.startIndex
        for cut in cuts {
            let next = min(max(position, rest.startIndex + min(max(0, cut), rest.count)), end)
            payload += rest[position..<next] + header + [Self.dot]
            position = next
        }
        payload += rest[position..<end]
        return header + [Self.dot] + Self.encoded(payload) + [Self.dot]
            + Self.encoded(Data(rest[end...]))
    }

    /// Base64url without padding (RFC 7515, section 2).
    static func encoded(_ bytes: Data) -> Data {
        bytes.base64EncodedData(options: [.base64URLAlphabet, .omitPaddingCharacter])
    }

    private static func cut(
        _ pattern: Data, outOf payload: Data, andAppend signature: [UInt8]
    ) -> (Data, [Int]) {
        var kept = Data()
        var cuts: [Int] = []
        var position = payload.startIndex
        while let found = payload.range(of: pattern, in: position..<payload.endIndex) {
            kept += payload[position..<found.lowerBound]
            cuts.append(kept.count)
            position = found.upperBound
        }
        return (kept + payload[position...] + signature, cuts)
    }
}

/// The bytes that a run added to the evidence.
extension EvidenceCost {
    /// Digest in the row and in its index, and SQLite's own bytes a row and an index entry.
    private static let overheadBytes = 2 * 64 + 24

    /// Counts what was added since the last concluded run; what a killed run added counts here.
    ///
    /// - Returns: The cost, and the number of the last payload.
    /// - Throws: An error of the database.
    static func sinceLastRun(_ db: Database) throws -> (cost: EvidenceCost, lastEvidenceID: Int64) {
        let since =
            try Int64.fetchOne(
                db, sql: "SELECT ifnull(max(last_evidence_id), 0) FROM trueup_run_evidence") ?? 0
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT ifnull(sum(1 + CASE WHEN ifnull(cuts, '') = '' THEN 0
                        ELSE 1 + length(cuts) - length(replace(cuts, ',', '')) END), 0),
                    ifnull(sum(received_bytes), 0),
                    ifnull(sum(length(rest) + \(Self.overheadBytes)), 0),
                    ifnull(max(evidence_id), ?1)
                FROM trueup_evidence WHERE evidence_id > ?1
                """,
            arguments: [since])
        return (EvidenceCost(row), row?.integer(at: 3) ?? since)
    }

    /// Stores it with the run, next to the number of the last payload.
    func store(ofRun sequence: Int64, lastEvidenceID: Int64, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO trueup_run_evidence VALUES (?, ?, ?, ?, ?)",
            arguments: [sequence, statements, receivedBytes, storedBytes, lastEvidenceID])
    }

    /// The cost of a run that has ended.
    init(ofRun sequence: Int64, _ db: Database) throws {
        self.init(
            try Row.fetchOne(
                db,
                sql: """
                    SELECT statements, received_bytes, stored_bytes FROM trueup_run_evidence
                    WHERE run_seq = ?
                    """,
                arguments: [sequence]))
    }

    /// Reads the first three columns; nothing where there is no row.
    private init(_ row: Row?) {
        self.init(
            statements: row?.number(at: 0) ?? 0, receivedBytes: row?.integer(at: 1) ?? 0,
            storedBytes: row?.integer(at: 2) ?? 0)
    }
}
