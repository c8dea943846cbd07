/// Sends an OCSP request to the responder that a certificate names.
package protocol OCSPResponder: Sendable {
    /// Asks, within a bounded time and with a bounded number of attempts.
    ///
    /// - Parameters:
    ///   - request: An OCSP request in DER.
    ///   - address: The URL as the certificate spells it; the implementation decides whether it may
    ///     be called.
    /// - Returns: The body of the response, not verified.
    func response(
        to request: [UInt8], at address: String
    ) async -> Result<[UInt8], OCSPFault>
}

/// Why there is no response; a sentence for the person on call.
package struct OCSPFault: Error, Hashable, Sendable {
    package let detail: String

    package init(_ detail: String) {
        self.detail = detail
    }
}

/// Which certificate a response is about, and from which responder it came.
package struct OCSPResponseKey: Hashable, Sendable {
    /// SHA-256 of the certificate in DER, in lowercase hexadecimal.
    package let certificate: String
    /// The same of the issuer's certificate.
    package let issuer: String
    /// The responder's URL; empty where the certificate names none.
    package let responder: String
}

/// Keeps responses from one run to the next.
///
/// Responses are signed and are verified again when they are read, so a cache that loses or
/// falsifies one costs a further request and nothing else.
package protocol OCSPResponseCache: Sendable {
    func response(for key: OCSPResponseKey) async -> [UInt8]?

    /// - Parameters:
    ///   - response: The signed bytes as received.
    ///   - key: What they are about.
    ///   - end: When they expire, in UNIX milliseconds.
    func keep(_ response: [UInt8], for key: OCSPResponseKey, until end: Int64) async
}
