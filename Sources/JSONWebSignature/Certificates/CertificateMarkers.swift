/// Extensions whose presence says what a certificate was issued for.
///
/// A trusted root signs many intermediates and leaves for other purposes; the markers single out
/// those for this one. Only presence counts, not the extension's value.
package struct CertificateMarkers: Hashable, Sendable {
    /// Object identifiers in dotted decimal form.
    package let intermediate: String
    package let leaf: String

    package init(intermediate: String, leaf: String) {
        self.intermediate = intermediate
        self.leaf = leaf
    }
}
