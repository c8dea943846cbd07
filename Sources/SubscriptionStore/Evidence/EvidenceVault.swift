import Foundation
import GRDB
import Subscriptions

/// Signed payloads as received, kept by digest.
///
/// Apple's header segment with its certificates is four fifths of a payload and nearly always the
/// same, so it is kept once; payload and signature follow it byte for byte.
struct EvidenceVault {
    let db: Database

    func store(_ payload: SignedPayload) throws {
        let known = try db.cachedStatement(sql: "SELECT 1 FROM trueup_evidence WHERE digest = ?")
        let digest = payload.digest.hexadecimal
        guard try Int.fetchOne(known, arguments: [digest]) == nil else { return }
        let bytes = Data(payload.jws.utf8)
        let point = bytes.firstIndex(of: UInt8(ascii: "."))
        let header = try point.map { try storeHeader(bytes[..<$0]) }
        try db.cachedStatement(
            sql: "INSERT INTO trueup_evidence (digest, header_id, rest) VALUES (?, ?, ?)"
        ).execute(arguments: [digest, header, point.map { Data(bytes[$0...]) } ?? bytes])
    }

    private func storeHeader(_ segment: Data) throws -> Int64 {
        let digest = Hexadecimal.sha256(of: segment)
        let find = try db.cachedStatement(
            sql: "SELECT header_id FROM trueup_evidence_headers WHERE digest = ?")
        if let id = try Int64.fetchOne(find, arguments: [digest]) { return id }
        try db.cachedStatement(
            sql: "INSERT INTO trueup_evidence_headers (digest, segment) VALUES (?, ?)"
        ).execute(arguments: [digest, Data(segment)])
        return db.lastInsertedRowID
    }

    /// The payload of a digest, put together again and checked against it.
    ///
    /// `nil` when it was never stored.
    func payload(_ digest: EvidenceDigest) throws -> SignedPayload? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT h.segment, e.rest FROM trueup_evidence AS e
                LEFT JOIN trueup_evidence_headers AS h ON h.header_id = e.header_id
                WHERE e.digest = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [digest.hexadecimal]) else {
            return nil
        }
        var bytes: Data = row[0] ?? Data()
        bytes.append(row[1] as Data? ?? Data())
        guard Hexadecimal.sha256(of: bytes) == digest.hexadecimal else {
            throw StoreError.inconsistent(
                "The stored evidence \(digest) no longer has this digest: the database was changed "
                    + "or is damaged. Restore a backup.")
        }
        return SignedPayload(digest: digest, jws: String(decoding: bytes, as: UTF8.self))
    }
}
