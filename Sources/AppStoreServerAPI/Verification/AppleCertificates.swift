package import JSONWebSignature

/// The root and the markers of Apple's signing chains.
///
/// Source: Apple PKI; JWSDecodedHeader of the App Store Server API.
package enum AppleCertificates {
    /// SHA-256 of Apple Root CA - G3, valid 2014-04-30 to 2039-04-30.
    ///
    /// Every chain contains the certificate itself, so no file has to be shipped or replaced.
    package static let rootG3Fingerprint =
        "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"

    /// Worldwide Developer Relations intermediates, and leaves that sign App Store receipts.
    package static let markers = CertificateMarkers(
        intermediate: "1.2.840.113635.100.6.2.1", leaf: "1.2.840.113635.100.6.11.1")
}
