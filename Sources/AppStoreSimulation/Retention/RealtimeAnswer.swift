import FoundationEssentials

/// What the customer is shown after a real-time request.
struct RetentionDisplay: Sendable, Equatable {
    enum Kind: String, Sendable {
        case message
        case alternateProduct = "alternate_product"
        case promotionalOffer = "promotional_offer"
        case defaultMessage = "default_message"
        case nothing
    }

    let kind: Kind
    var messageIdentifier: String?
    var productID: String?
    /// Why the app's answer is not shown; `nil` if it is.
    var refused: String?
}

/// The app's answer to a real-time request.
///
/// Source: Retention Messaging API, `RealtimeResponseBody`. A signature of a promotional offer must be
/// there, and is not verified.
struct RealtimeAnswer: Decodable {
    private struct Option: Decodable {
        var messageIdentifier: String?
        var productId: String?
        var promotionalOfferSignatureV2: String?
        var promotionalOfferSignatureV1: SignatureV1?
    }

    /// The required members of `promotionalOfferSignatureV1`.
    private struct SignatureV1: Decodable {
        let encodedSignature: String
        let productId: String
        let nonce: String
        let timestamp: Int64
        let keyId: String
        let offerIdentifier: String
    }

    private var message: Option?
    private var alternateProduct: Option?
    private var promotionalOffer: Option?

    /// What is shown: the answer's choice or, where that cannot be shown, the default message.
    static func display(
        for body: [UInt8], product: UInt16, locale: String, content: RetentionContent,
        catalogue: Catalogue
    ) -> RetentionDisplay {
        guard let answer = try? JSONDecoder().decode(RealtimeAnswer.self, from: Data(body)) else {
            return byDefault(
                because: "The answer is not a RealtimeResponseBody.", product: product,
                locale: locale, content: content)
        }
        do throws(Refusal) {
            return try answer.choice(in: content, catalogue: catalogue)
        } catch {
            return byDefault(
                because: error.reason, product: product, locale: locale, content: content)
        }
    }

    /// The default message of product and locale; nothing where there is none.
    static func byDefault(
        because reason: String?, product: UInt16, locale: String, content: RetentionContent
    ) -> RetentionDisplay {
        let place = RetentionContent.DefaultPlace(product: product, locale: locale)
        guard let id = content.defaults[place], content.objection(toShowing: id) == nil else {
            return RetentionDisplay(kind: .nothing, refused: reason)
        }
        return RetentionDisplay(kind: .defaultMessage, messageIdentifier: id, refused: reason)
    }

    private struct Refusal: Error {
        let reason: String
    }

    private func choice(
        in content: RetentionContent, catalogue: Catalogue
    ) throws(Refusal) -> RetentionDisplay {
        let options: [(kind: RetentionDisplay.Kind, option: Option)] = [
            (.message, message), (.alternateProduct, alternateProduct),
            (.promotionalOffer, promotionalOffer),
        ].compactMap { kind, option in option.map { (kind, $0) } }
        guard let (kind, option) = options.first, options.count == 1 else {
            throw Refusal(
                reason: "The answer must have one of message, alternateProduct and "
                    + "promotionalOffer, and no other of them.")
        }
        guard let text = option.messageIdentifier,
            let id = UUID(uuidString: text)?.uuidString.lowercased()
        else { throw Refusal(reason: "The answer's messageIdentifier is not a UUID.") }
        if let objection = content.objection(toShowing: id) {
            throw Refusal(reason: objection.message)
        }
        if kind != .message, content.messages[id]?.imageIDs.isEmpty == false {
            throw Refusal(reason: "Only a text-based message may have images.")
        }
        switch kind {
        case .alternateProduct:
            guard let product = option.productId, catalogue.subscription(named: product) != nil
            else { throw Refusal(reason: "The alternate product is not a subscription.") }
        case .promotionalOffer:
            guard
                (option.promotionalOfferSignatureV2 == nil)
                    != (option.promotionalOfferSignatureV1 == nil)
            else { throw Refusal(reason: "The offer needs a signature, of one version.") }
        default: break
        }
        return RetentionDisplay(
            kind: kind, messageIdentifier: id,
            productID: option.productId ?? option.promotionalOfferSignatureV1?.productId)
    }
}
