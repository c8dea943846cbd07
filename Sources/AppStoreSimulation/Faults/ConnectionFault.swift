/// What goes wrong with a connection before any request is read on it.
///
/// The raw values are the names in fault plans.
enum ConnectionFault: String, Sendable, CaseIterable {
    /// Nobody listens on the port; what is open is closed.
    case refused = "connection_refused"
    /// The connection stands and nothing ever comes over it.
    case stalled = "connection_stalled"
    /// The connection is reset as soon as it stands.
    case reset = "connection_reset"
    case tlsWrongHost = "tls_wrong_host"
    case tlsExpired = "tls_expired"
    case tlsNotYetValid = "tls_not_yet_valid"
    case tlsForeignAuthority = "tls_foreign_ca"
    case tlsSelfSigned = "tls_self_signed"
    /// TLS 1.1 at most, while Apple's clients ask for 1.2.
    case tlsOldVersion = "tls_old_version"
    /// HTTP/2 is not offered.
    case http1Only = "http1_only"
}
