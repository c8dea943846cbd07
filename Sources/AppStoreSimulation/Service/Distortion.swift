/// A way in which an answer says or proves something else than the truth.
///
/// The raw values are the names in fault plans.
package enum Distortion: String, Hashable, Sendable, CaseIterable {
    // The signature or its chain.
    case badSignature = "bad_signature"
    case expiredLeaf = "expired_leaf"
    case wrongLeafMarker = "wrong_leaf_oid"
    case wrongIntermediateMarker = "wrong_intermediate_oid"
    case foreignRoot = "foreign_root"
    case algorithmNone = "alg_none"
    case twoCertificates = "two_certificates"
    case fourCertificates = "four_certificates"
    // What is signed.
    case otherBundle = "other_bundle"
    case otherEnvironment = "other_environment"
    case oldStatement = "old_statement"
    case swappedRenewal = "swapped_renewal"
    case unknownValues = "unknown_values"
    case everythingExpired = "everything_expired"
    // What is not signed.
    case contradictingStatus = "contradicting_status"
    case unknownStatus = "unknown_status"
    case otherCustomer = "other_customer"
    case emptyData = "empty_data"
    case wrongTypes = "wrong_types"
    case unknownFields = "unknown_fields"
    case hasMoreForever = "has_more_forever"
    case repeatedToken = "repeated_token"

    /// The JWS with one character of its signature changed.
    static func breakingSignature(of jws: [UInt8]) -> [UInt8] {
        var jws = jws
        guard let point = jws.lastIndex(of: UInt8(ascii: ".")), point + 20 < jws.count else {
            return jws
        }
        let place = point + 20
        jws[place] = jws[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return jws
    }
}
