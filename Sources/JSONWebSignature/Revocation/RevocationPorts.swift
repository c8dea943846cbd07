/// Carries an OCSP request to the responder that a certificate names.
package protocol RevocationResponder: Sendable {
    /// Asks, within a bounded time and with a bounded number of attempts.
    ///
    /// - Parameters:
    ///   - request: An OCSP request in DER.
    ///   - address: The URL as the certificate spells it; the implementation decides whether it may
    ///     be called.
    /// - Returns: The body of the answer, which nobody has looked at yet.
    func answer(
        to request: [UInt8], at address: String
    ) async -> Result<[UInt8], RevocationFault>
}

/// Why no answer came; a sentence for the person on call.
package struct RevocationFault: Error, Hashable, Sendable {
    package let detail: String

    package init(_ detail: String) {
        self.detail = detail
    }
}

/// Whose revocation an answer is about, and who gave it.
package struct RevocationAnswerKey: Hashable, Sendable {
    /// SHA-256 of the certificate in DER, in lowercase hexadecimal.
    package let certificate: String
    /// The same of the issuer's certificate.
    package let issuer: String
    /// The responder's URL; empty where the certificate names none.
    package let responder: String
}

/// Keeps answers from one run to the next.
///
/// Answers are signed, so what is kept is verified again when it is taken out, and a shelf that
/// loses or falsifies one costs a further question and nothing else.
package protocol RevocationAnswerShelf: Sendable {
    func answer(for key: RevocationAnswerKey) async -> [UInt8]?

    /// - Parameters:
    ///   - answer: The signed bytes as received.
    ///   - key: What they answer.
    ///   - end: When they cease to count, in UNIX milliseconds.
    func keep(_ answer: [UInt8], for key: RevocationAnswerKey, until end: Int64) async
}
