import JSONWebSignature
import Subscriptions
import TestSupport

extension CacheCases {
    /// The signed data of the conformance vectors, by the roots under which it is judged.
    ///
    /// Vectors whose roots or environment cannot be configured reach no verifier; those of chains
    /// alone have no header to remember.
    static func vectors(_ files: [String]) throws -> [CacheCases] {
        var casesByRoots: [[String]: [CacheCase]] = [:]
        for vector in try files.flatMap(ConformanceVectors.load) {
            guard let kind = vector.text("kind").flatMap(CacheCase.Kind.init),
                let environment = vector.text("environment").flatMap(AppStoreEnvironment.init)
            else { continue }
            casesByRoots[vector.texts("trusted_roots"), default: []].append(
                CacheCase(
                    name: vector.name, kind: kind, text: vector.compactJWS,
                    app: AppIdentity(
                        bundleID: vector.text("bundle_id") ?? "", environment: environment),
                    appAppleID: vector.entry.member("app_apple_id")?.integer))
        }
        return casesByRoots.compactMap { texts, cases in
            let files = texts.compactMap { Base64.decodeStandard(Array($0.utf8)[...]) }
            guard files.count == texts.count,
                let roots = try? TrustedRoots(fingerprints: [], certificateFiles: files)
            else { return nil }
            return CacheCases(roots: roots, cases: cases)
        }
    }
}
