import Foundation
import GRDB
package import Subscriptions

/// Signed OCSP responses; the reader verifies them again.
extension SQLiteStore {
    /// Returns the stored answer to a question that is still valid.
    ///
    /// - Parameters:
    ///   - question: Whose revocation, and by whom.
    ///   - now: Answers that end at or before this moment are not given out.
    /// - Returns: The signed bytes as received; `nil` when nothing is kept.
    /// - Throws: When the database cannot be read.
    package func revocationAnswer(
        to question: RevocationQuestion, at now: Timestamp
    ) async throws(StoreError) -> [UInt8]? {
        try await read("reading a revocation answer") { db in
            try Data.fetchOne(
                db,
                sql: """
                    SELECT answer FROM trueup_revocation_answers
                    WHERE certificate = ? AND issuer = ? AND responder = ? AND kept_until > ?
                    """, arguments: question.arguments + [now.unixMilliseconds]
            ).map(Array.init)
        }
    }

    /// Keeps an answer in place of an older one, and forgets all that have ended.
    ///
    /// - Parameters:
    ///   - answer: The signed bytes as received.
    ///   - question: What they answer.
    ///   - end: When they cease to count.
    ///   - now: The present.
    /// - Throws: When the database cannot be written.
    package func keepRevocationAnswer(
        _ answer: [UInt8], to question: RevocationQuestion, until end: Timestamp, at now: Timestamp
    ) async throws(StoreError) {
        try await write("keeping a revocation answer") { db in
            try db.execute(
                sql: "DELETE FROM trueup_revocation_answers WHERE kept_until <= ?",
                arguments: [now.unixMilliseconds])
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_revocation_answers VALUES (?, ?, ?, ?, ?)",
                arguments: question.arguments + [Data(answer), end.unixMilliseconds])
        }
    }
}

/// The certificate that a response is about, and the responder that it came from.
package struct RevocationQuestion: Hashable, Sendable {
    /// SHA-256 of the certificate, in lowercase hexadecimal.
    package var certificate: String
    /// The digest of the issuer's certificate.
    package var issuer: String
    /// The responder's URL.
    package var responder: String

    package init(certificate: String, issuer: String, responder: String) {
        self.certificate = certificate
        self.issuer = issuer
        self.responder = responder
    }

    fileprivate var arguments: StatementArguments { [certificate, issuer, responder] }
}
