package import JSONWebSignature
package import Subscriptions

/// A JSON object of the App Store Server API.
///
/// Every member is optional, as in Apple's own models: absent and null are the same. Members and
/// enumeration values that this version does not know are kept and counted, never refused.
package protocol AppStoreModel: Sendable {
    /// The prefix of the names of unknown members and values, for example `transaction`.
    static var modelName: String { get }

    init(reading reader: inout ObjectReader) throws(UndecodableModel)
}

extension AppStoreModel {
    /// Reads an object; one that has a known member twice is undecodable.
    package init(_ value: JSONValue) throws(UndecodableModel) {
        guard var reader = ObjectReader(value, name: Self.modelName) else {
            throw UndecodableModel("\(Self.modelName) is not a JSON object")
        }
        self = try Self(reading: &reader)
        _ = try reader.finish()
    }

    /// Reads a whole JSON text.
    package init(json: [UInt8]) throws(UndecodableModel) {
        let document: JSONDocument
        do {
            document = try JSONDocument(json)
        } catch {
            throw UndecodableModel("\(Self.modelName): \(error.detail)")
        }
        try self.init(document.root)
    }
}

/// The members of an answer, or of the content of a notification, that name its app.
package protocol AnswerEnvelope {
    var environment: String? { get }
    var bundleId: String? { get }
    var appAppleId: Int64? { get }
}

/// An error that says why a JSON text cannot be decoded: which member, and what is wrong with it.
package struct UndecodableModel: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The values of Apple's enumerations that this version knows.
///
/// Sources: App Store Server API 1.23 and App Store Server Notifications 2.23. A value that is not
/// here is kept and counted (`UnknownValue`); Apple adds some every year.
enum KnownValues {
    static let environments = ["Production", "Sandbox"]
    static let productTypes = [
        "Auto-Renewable Subscription", "Non-Consumable", "Consumable", "Non-Renewing Subscription",
    ]
    static let transactionReasons = ["PURCHASE", "RENEWAL"]
    static let additionalTransactionReasons = ["SEAT_ADDITION"]
    static let offerDiscountTypes = ["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"]
    static let revocationTypes = [
        "REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE", "ASSIGNMENT_REVOKE",
    ]
    static let billingPlanTypes = ["BILLED_UPFRONT", "MONTHLY"]
    static let platforms = ["iOS", "macOS", "tvOS", "visionOS"]
    static let consumptionRequestReasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]
    static let sendAttemptResults = [
        "SUCCESS", "TIMED_OUT", "TLS_ISSUE", "SSL_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE",
        "SOCKET_ISSUE", "UNSUPPORTED_CHARSET", "INVALID_RESPONSE", "PREMATURE_CLOSE",
        "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "OTHER",
    ]
    static let notificationTypes = [
        "SUBSCRIBED", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS",
        "OFFER_REDEEMED", "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "PRICE_INCREASE",
        "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE", "CONSUMPTION_REQUEST",
        "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "ONE_TIME_CHARGE", "TEST",
        "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "MIGRATE",
        "PRICE_CHANGE", "UNCLAIM_SEATS",
    ]
    static let subtypes = [
        "INITIAL_BUY", "RESUBSCRIBE", "BILLING_RECOVERY", "UPGRADE", "DOWNGRADE",
        "AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED", "GRACE_PERIOD", "VOLUNTARY", "BILLING_RETRY",
        "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "PENDING", "ACCEPTED", "SUMMARY", "FAILURE",
        "UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER", "SEATS", "INCREASE_QUANTITY",
        "DECREASE_QUANTITY",
    ]
    static let offerTypes = 1...4
    static let revocationReasons = 0...1
    static let autoRenewStatuses = 0...1
    static let expirationIntents = 1...5
    static let priceIncreaseStatuses = 0...1
    static let statuses = 1...5
}

/// The body of a refusal.
///
/// Apple sends none with a 401, and proxies send HTML: then both members are absent. Classify by
/// the code first and by the HTTP status otherwise. Source: App Store Server API, error codes.
package struct ErrorPayload: AppStoreModel, Hashable {
    package static let modelName = "error"

    package let errorCode: Int?
    package let errorMessage: String?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        errorCode = try reader.integer("errorCode").flatMap { Int(exactly: $0) }
        errorMessage = try reader.text("errorMessage")
    }

    /// Reads what is readable; never fails.
    package init(body: [UInt8]) {
        do {
            self = try ErrorPayload(json: body)
        } catch {
            errorCode = nil
            errorMessage = nil
        }
    }
}

/// Reads the members of one JSON object by name, and collects the members that were not read.
///
/// Apple sends members in a fixed order, and models read them in that order.
package struct ObjectReader {
    /// The reaction to a member that has an unexpected JSON type.
    package enum Demand {
        /// For members that decisions depend on: the whole object is undecodable.
        case strict
        /// For other members: it counts as unknown and is left out.
        case loose
    }

    /// How many unknown members and values are kept for one object; further ones are dropped.
    package static let keptUnknowns = 32
    private static let keptTextLength = 100

    private var members: JSONMembers
    private let name: String
    private var unknowns: [UnknownValue] = []

    /// `nil` when the value is not an object.
    init?(_ value: JSONValue, name: String) {
        guard let members = JSONMembers(value) else { return nil }
        self.members = members
        self.name = name
    }

    package mutating func text(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> String? {
        try value(member, demand) { Self.storable($0.text) }
    }

    /// A text that is only compared with a setting, byte for byte, and never stored.
    package mutating func comparedText(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> String? {
        try value(member, demand) { $0.text }
    }

    /// The member `environment`; an unknown one is kept.
    package mutating func environment() throws(UndecodableModel) -> String? {
        guard let raw = try comparedText("environment", .strict) else { return nil }
        if !KnownValues.environments.contains(raw) { noteUnknown("environment", value: raw) }
        return raw
    }

    /// A text that a database and a report can hold: a NUL would end it there, whatever follows.
    private static func storable(_ text: String?) -> String? {
        text.flatMap { $0.utf8.contains(0) ? nil : $0 }
    }

    /// An amount in milliunits; one that no price can be is kept and counts as unknown.
    package mutating func amount(_ member: String) throws(UndecodableModel) -> Int64? {
        let amount = try integer(member, .strict)
        if let amount, amount.magnitude > Self.largestAmount {
            noteUnknown(member, value: String(amount))
        }
        return amount
    }

    /// The largest amount that counts as a price, in milliunits.
    ///
    /// The largest price of the App Store is 10,000 US dollars. Far above that, and far below what
    /// 64 bits hold, sums of amounts still add up.
    static let largestAmount: UInt64 = 10_000_000_000_000_000

    /// The UTF-8 of a text without a copy: for JWS.
    package mutating func textBytes(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> ArraySlice<UInt8>? {
        try value(member, demand) { $0.textBytes }
    }

    package mutating func boolean(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> Bool? {
        try value(member, demand) { $0.boolean }
    }

    package mutating func integer(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> Int64? {
        try value(member, demand) { $0.integer }
    }

    /// UNIX milliseconds; a fraction of a millisecond is dropped.
    package mutating func moment(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> Timestamp? {
        try value(member, demand) { $0.integerRoundedDown.map(Timestamp.init(unixMilliseconds:)) }
    }

    /// The raw text of an enumeration; one that is not `known` counts as unknown and is kept.
    package mutating func enumeration(
        _ member: String, known: [String], _ demand: Demand = .loose
    ) throws(UndecodableModel) -> String? {
        guard let raw = try text(member, demand) else { return nil }
        if !known.contains(raw) { noteUnknown(member, value: raw) }
        return raw
    }

    /// The raw number of an enumeration; one that is not `known` counts as unknown and is kept.
    package mutating func enumeration(
        _ member: String, known: ClosedRange<Int>, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> Int? {
        guard let raw = try value(member, demand, { $0.integer.flatMap { Int(exactly: $0) } })
        else { return nil }
        if !known.contains(raw) { noteUnknown(member, value: String(raw)) }
        return raw
    }

    package mutating func texts(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> [String]? {
        try value(member, demand) { value in
            guard value.isArray else { return nil }
            let texts = value.elements.compactMap { Self.storable($0.text) }
            return texts.count == value.elements.count ? texts : nil
        }
    }

    package mutating func elements(
        _ member: String, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> [JSONValue]? {
        try value(member, demand) { $0.isArray ? $0.elements : nil }
    }

    /// An object whose contents are not read.
    package mutating func rawObject(_ member: String) throws(UndecodableModel) -> JSONValue? {
        try value(member, .loose) { $0.isObject ? $0 : nil }
    }

    /// A nested object; its unknowns are counted here, under the member's name.
    package mutating func object<Model: AppStoreModel>(
        _ member: String, as type: Model.Type, _ demand: Demand = .loose
    ) throws(UndecodableModel) -> Model? {
        let nestedName = "\(name).\(member)"
        let found = try value(member, demand) { ObjectReader($0, name: nestedName) }
        guard var nested = found else { return nil }
        let model = try Model(reading: &nested)
        for unknown in try nested.finish() { note(unknown) }
        return model
    }

    /// All unknown values so far, and the members that were not read; calling it again adds
    /// nothing.
    ///
    /// - Throws: When a member that was read is there twice: parsers differ in which one they use.
    package mutating func finish() throws(UndecodableModel) -> [UnknownValue] {
        // Models read a few dozen members; an object that was sent may have any number.
        for member in members.untakenNames {
            if let twice = member.text, members.hasTaken(twice) {
                throw UndecodableModel("\(name) has the member \(twice) twice")
            }
            guard unknowns.count < Self.keptUnknowns else { continue }
            let text = Self.shown((member.text ?? "").prefix(Self.keptTextLength))
            note(UnknownValue(field: "\(name).\(text)", value: nil))
        }
        members.takeAll()
        return unknowns
    }

    private mutating func value<Value>(
        _ member: String, _ demand: Demand, _ read: (JSONValue) -> Value?
    ) throws(UndecodableModel) -> Value? {
        guard let found = members.take(member), !found.isNull else { return nil }
        if let value = read(found) { return value }
        guard demand == .loose else {
            throw UndecodableModel(
                "\(name).\(member) has an unexpected JSON type, or a text with a NUL")
        }
        noteUnknown(member, value: String(found.source.prefix(Self.keptTextLength)))
        return nil
    }

    private mutating func noteUnknown(_ member: String, value: String) {
        note(
            UnknownValue(
                field: "\(name).\(member)", value: Self.shown(value.prefix(Self.keptTextLength))))
    }

    /// The text with each control character replaced: it is reported, not compared.
    private static func shown(_ text: Substring) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            shown.append(isControl ? "\u{FFFD}" : scalar)
        }
        return String(shown)
    }

    private mutating func note(_ unknown: UnknownValue) {
        if unknowns.count < Self.keptUnknowns { unknowns.append(unknown) }
    }
}
