import Foundation
import GRDB
import Subscriptions

/// Signed payloads as received, kept by digest.
///
/// Apple's header segment with its certificates is four fifths of a payload and nearly always the
/// same, so it is kept once; payload and signature are kept as bytes. What is given back is the
/// exact text, checked against its digest.
struct EvidenceVault {
    let db: Database
    private let last = Last()

    init(db: Database) { self.db = db }

    /// What the last payload was stored with: nearly always that of the next one, too.
    ///
    /// A vault lives no longer than a transaction, so nothing of it is undone beneath it.
    private final class Last {
        var header: (segment: Data, id: Int64)?
        var app: (bundleID: String, environment: String, id: Int64)?
    }

    func store(_ payload: SignedPayload, of app: (bundleID: String, environment: String)) throws {
        let known = try db.cachedStatement(sql: "SELECT 1 FROM trueup_evidence WHERE digest = ?")
        let digest = payload.digest.hexadecimal
        // An erased one stays erased: its tombstone is a digest too.
        guard try Int.fetchOne(known, arguments: [digest]) == nil else { return }
        let text = Data(payload.jws.utf8)
        // Nor does an erased one come back inside another, for example inside a notification.
        let decoded = CompactPayload.Decoded(text)
        for inner in decoded.map(CompactPayload.digests) ?? [] {
            let tombstone = try tombstone(EvidenceDigest(hexadecimal: inner))
            if let tombstone, tombstone.reason == EvidenceErasure.Reason.customer.rawValue {
                return try bury(digest, at: tombstone.erasedAt, because: tombstone.reason)
            }
        }
        let compact = decoded.flatMap { CompactPayload(text, $0) }
        let header = try compact.map { try headerID(of: $0.header) }
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_evidence (
                    digest, header_id, rest, cuts, app_id, received_bytes)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            digest, header, compact?.rest ?? text,
            compact.map { $0.cuts.map(String.init).joined(separator: ",") },
            try appID(of: app), text.count,
        ])
    }

    /// Leaves the tombstone of a payload that is not kept.
    func bury(_ digest: String, at time: Timestamp, because reason: String) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_evidence (digest, rest, cuts, erased_at, erased_because)
                VALUES (?, x'', '', ?, ?) ON CONFLICT (digest) DO NOTHING
                """
        ).execute(arguments: [digest, time.unixMilliseconds, reason])
    }

    /// What an erased payload left; `nil` where nothing was erased.
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
        if let header = last.header, header.segment == segment { return header.id }
        let id = try storedHeaderID(of: segment)
        last.header = (segment, id)
        return id
    }

    private func storedHeaderID(of segment: Data) throws -> Int64 {
        let digest = Hexadecimal.sha256(of: segment)
        let find = try db.cachedStatement(
            sql: "SELECT header_id FROM trueup_evidence_headers WHERE digest = ?")
        if let id = try Int64.fetchOne(find, arguments: [digest]) { return id }
        try db.cachedStatement(
            sql: "INSERT INTO trueup_evidence_headers (digest, segment) VALUES (?, ?)"
        ).execute(arguments: [digest, segment])
        return db.lastInsertedRowID
    }

    private func appID(of app: (bundleID: String, environment: String)) throws -> Int64 {
        if let known = last.app, (known.bundleID, known.environment) == app { return known.id }
        let id = try storedAppID(of: app)
        last.app = (app.bundleID, app.environment, id)
        return id
    }

    private func storedAppID(of app: (bundleID: String, environment: String)) throws -> Int64 {
        let find = try db.cachedStatement(
            sql: """
                SELECT app_id FROM trueup_evidence_apps WHERE bundle_id = ? AND environment = ?
                """)
        if let id = try Int64.fetchOne(find, arguments: [app.bundleID, app.environment]) {
            return id
        }
        try db.cachedStatement(
            sql: "INSERT INTO trueup_evidence_apps (bundle_id, environment) VALUES (?, ?)"
        ).execute(arguments: [app.bundleID, app.environment])
        return db.lastInsertedRowID
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
