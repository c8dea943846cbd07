/// Configure Default Message, Delete Default Message, Get Default Message.
extension AppStoreService {
    /// Idempotent, and replaces an earlier one.
    func configureDefaultMessage(
        _ parameters: [String], request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        let place = try defaultPlace(parameters)
        let id = try Self.identifier(try request.decodedBody(DefaultMessageBody.self).message)
        try retention.changeContent(of: environment) { content throws(APIFailure) in
            if let objection = content.objection(toShowing: id) { throw objection }
            content.defaults[place] = id
        }
        return .empty(status: 200)
    }

    /// Idempotent.
    func deleteDefaultMessage(_ parameters: [String]) throws(APIFailure) -> ServiceAnswer {
        let place = try defaultPlace(parameters)
        try retention.changeContent(of: environment) { $0.defaults[place] = nil }
        return .empty(status: 200)
    }

    func defaultMessage(_ parameters: [String]) throws(APIFailure) -> ServiceAnswer {
        let place = try defaultPlace(parameters)
        guard let id = retention.content(of: environment).defaults[place] else {
            throw .defaultMessageNotFound
        }
        return .json { $0.field("messageIdentifier", id) }
    }

    /// `parameters`: product id and locale.
    private func defaultPlace(
        _ parameters: [String]
    ) throws(APIFailure) -> RetentionContent.DefaultPlace {
        guard let product = parameters.first.flatMap({ catalogue.subscription(named: $0) }) else {
            throw .invalidProductID
        }
        guard let locale = parameters.last, Self.isLocale(locale) else { throw .invalidLocale }
        return RetentionContent.DefaultPlace(product: product, locale: locale)
    }

    /// Whether a text has the form of a locale such as `de`, `en-US` or `zh-Hans`.
    static func isLocale(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let language = parts.first, parts.count <= 3, (2...3).contains(language.utf8.count),
            language.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        else { return false }
        return parts.dropFirst().allSatisfy { part in
            (2...4).contains(part.utf8.count)
                && part.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphabetic }
        }
    }
}

/// Source: Retention Messaging API, `DefaultConfigurationRequest`.
private struct DefaultMessageBody: Decodable {
    let message: String

    init(from decoder: any Decoder) throws {
        message = try BodyMembers(decoder).required(
            String.self, "messageIdentifier", otherwise: .generalBadRequest)
    }
}
