/// Forms of invalid JWS, none of which a client may accept.
///
/// The raw values are the names in fault plans and follow the conformance vectors. Some have a valid
/// signature, to test that a client checks more than the signature.
enum BrokenJWS: String, Hashable, Sendable, CaseIterable {
    // The algorithm.
    case algNoneEmptySignature = "alg_none_empty_signature"
    case algNoneMixedCase = "alg_none_mixed_case"
    case algHS256KeyedWithLeaf = "alg_hs256_keyed_with_leaf"
    case algES384 = "alg_es384"
    case algNull = "alg_null"
    case algMissing = "alg_missing"
    // The signature.
    case signatureEmpty = "signature_empty"
    case signatureTruncated = "signature_63_bytes"
    case signatureTooLong = "signature_65_bytes"
    case signatureZero = "signature_zero"
    case signatureDER = "signature_der"
    case signatureSwapped = "signature_r_and_s_swapped"
    case signatureOfAnotherKey = "signature_of_another_key"
    case signatureOfAnotherPayload = "signature_of_another_payload"
    case signatureOverPayloadOnly = "signature_over_payload_only"
    // The three parts.
    case segmentsTwo = "segments_two"
    case segmentsFour = "segments_four"
    case segmentEmptyPayload = "segment_empty_payload"
    case jsonSerialization = "json_serialization"
    case notAJWS = "not_a_jws"
    // Base64.
    case base64IllegalCharacter = "base64_illegal_character"
    case base64NonASCII = "base64_non_ascii"
    case base64Newline = "base64_newline"
    case base64LengthOneModFour = "base64_length_1_mod_4"
    // The header.
    case headerNotJSON = "header_not_json"
    case headerIsArray = "header_is_array"
    case headerWithoutX5C = "header_without_x5c"
    case headerWithKeyOnly = "header_jwk_only"
    case headerCritical = "header_crit"
    case headerUnencodedPayload = "header_b64_false"
    // The certificates.
    case x5cNull = "x5c_null"
    case x5cEmpty = "x5c_empty"
    case x5cOne = "x5c_one"
    case x5cText = "x5c_text"
    case x5cGarbage = "x5c_garbage"
    case x5cTruncated = "x5c_truncated"
    case x5cSwapped = "x5c_swapped"
    case x5cRootThrice = "x5c_root_thrice"
    case leafOfAnotherIntermediate = "leaf_of_another_intermediate"
    case leafUnderRoot = "leaf_under_root"
    case leafNotYetValid = "leaf_not_yet_valid"
    case leafSignatureCorrupt = "leaf_signature_corrupt"
    case intermediateExpired = "intermediate_expired"
    case intermediateNotAuthority = "intermediate_not_ca"
    case selfSignedThrice = "self_signed_thrice"
    // What is signed.
    case payloadIsArray = "payload_is_array"
    case payloadTruncated = "payload_truncated"
    case payloadTwice = "payload_base64_twice"
}
