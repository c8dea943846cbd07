/// Apple's error codes, as far as the simulated endpoints use them.
///
/// The HTTP status is the code divided by 10,000. Source: App Store Server API, Error codes.
package enum APIFailure: Int, Error, Hashable, Sendable, CaseIterable {
    case generalBadRequest = 4_000_000
    case invalidAppIdentifier = 4_000_002
    case invalidRequestRevision = 4_000_005
    case invalidTransactionID = 4_000_006
    case invalidOriginalTransactionID = 4_000_008
    case invalidExtendByDays = 4_000_009
    case invalidExtendReasonCode = 4_000_010
    case invalidRequestIdentifier = 4_000_011
    case startDateTooFarInPast = 4_000_012
    case startDateAfterEndDate = 4_000_013
    case invalidPaginationToken = 4_000_014
    case invalidStartDate = 4_000_015
    case invalidEndDate = 4_000_016
    case paginationTokenExpired = 4_000_017
    case invalidNotificationType = 4_000_018
    case multipleFiltersSupplied = 4_000_019
    case invalidTestNotificationToken = 4_000_020
    case invalidSort = 4_000_021
    case invalidProductType = 4_000_022
    case invalidProductID = 4_000_023
    case invalidSubscriptionGroupIdentifier = 4_000_024
    case invalidExcludeRevoked = 4_000_025
    case invalidInAppOwnershipType = 4_000_026
    case invalidEmptyStorefrontCountryCodeList = 4_000_027
    case invalidStorefrontCountryCode = 4_000_028
    case invalidRevoked = 4_000_030
    case invalidStatus = 4_000_031
    case invalidAccountTenure = 4_000_032
    case invalidAppAccountToken = 4_000_033
    case invalidConsumptionStatus = 4_000_034
    case invalidCustomerConsented = 4_000_035
    case invalidDeliveryStatus = 4_000_036
    case invalidLifetimeDollarsPurchased = 4_000_037
    case invalidLifetimeDollarsRefunded = 4_000_038
    case invalidPlatform = 4_000_039
    case invalidPlayTime = 4_000_040
    case invalidSampleContentProvided = 4_000_041
    case invalidUserStatus = 4_000_042
    case invalidTransactionTypeNotSupported = 4_000_047
    case appTransactionIDNotSupported = 4_000_048
    case invalidAppAccountTokenUUID = 4_000_183
    case familyTransactionNotSupported = 4_000_185
    case transactionIDIsNotOriginal = 4_000_187
    case subscriptionExtensionIneligible = 4_030_004
    case subscriptionMaxExtension = 4_030_005
    case familySharedSubscriptionExtensionIneligible = 4_030_007
    case accountNotFound = 4_040_001
    case accountNotFoundRetryable = 4_040_002
    case appNotFound = 4_040_003
    case appNotFoundRetryable = 4_040_004
    case originalTransactionIDNotFound = 4_040_005
    case originalTransactionIDNotFoundRetryable = 4_040_006
    case serverNotificationURLNotFound = 4_040_007
    case testNotificationNotFound = 4_040_008
    case statusRequestNotFound = 4_040_009
    case transactionIDNotFound = 4_040_010
    case appTransactionDoesNotExist = 4_040_019
    case rateLimitExceeded = 4_290_000
    case generalInternal = 5_000_000
    case generalInternalRetryable = 5_000_001

    package var httpStatus: Int { rawValue / 10_000 }

    package var message: String {
        switch self {
        case .generalBadRequest: "Bad request."
        case .invalidAppIdentifier: "Invalid request app identifier."
        case .invalidRequestRevision: "Invalid request revision."
        case .invalidTransactionID: "Invalid transaction id."
        case .invalidOriginalTransactionID: "Invalid original transaction id."
        case .invalidExtendByDays: "Invalid extend by days value."
        case .invalidExtendReasonCode: "Invalid extend reason code."
        case .invalidRequestIdentifier: "Invalid request identifier."
        case .startDateTooFarInPast: "Invalid start date. The start date is too far in the past."
        case .startDateAfterEndDate: "Invalid start date. The start date is after the end date."
        case .invalidPaginationToken: "Invalid pagination token."
        case .invalidStartDate: "Invalid start date."
        case .invalidEndDate: "Invalid end date."
        case .paginationTokenExpired: "Pagination token expired."
        case .invalidNotificationType: "Invalid notification type or subtype."
        case .multipleFiltersSupplied: "Invalid request. Multiple filters supplied."
        case .invalidTestNotificationToken: "Invalid test notification token."
        case .invalidSort: "Invalid sort."
        case .invalidProductType: "Invalid product type."
        case .invalidProductID: "Invalid product id."
        case .invalidSubscriptionGroupIdentifier: "Invalid subscription group identifier."
        case .invalidExcludeRevoked: "Invalid exclude revoked."
        case .invalidInAppOwnershipType: "Invalid in-app ownership type."
        case .invalidEmptyStorefrontCountryCodeList: "Empty storefront country code list."
        case .invalidStorefrontCountryCode: "Invalid storefront country code."
        case .invalidRevoked: "Invalid revoked."
        case .invalidStatus: "Invalid status."
        case .invalidAccountTenure: "Invalid account tenure."
        case .invalidAppAccountToken: "Invalid app account token."
        case .invalidConsumptionStatus: "Invalid consumption status."
        case .invalidCustomerConsented: "Invalid customer consented."
        case .invalidDeliveryStatus: "Invalid delivery status."
        case .invalidLifetimeDollarsPurchased: "Invalid lifetime dollars purchased."
        case .invalidLifetimeDollarsRefunded: "Invalid lifetime dollars refunded."
        case .invalidPlatform: "Invalid platform."
        case .invalidPlayTime: "Invalid play time."
        case .invalidUserStatus: "Invalid user status."
        case .invalidSampleContentProvided: "Invalid sample content provided."
        case .invalidTransactionTypeNotSupported: "Transaction type not supported."
        case .invalidAppAccountTokenUUID: "Invalid app account token. It must be a UUID."
        case .familyTransactionNotSupported: "Family shared transactions are not supported."
        case .transactionIDIsNotOriginal: "Transaction id is not an original transaction id."
        case .subscriptionExtensionIneligible: "Subscription is not eligible for an extension."
        case .subscriptionMaxExtension: "Subscription has reached the maximum extensions."
        case .familySharedSubscriptionExtensionIneligible:
            "Family shared subscriptions are not eligible for an extension."
        case .appTransactionIDNotSupported: "App transaction id not supported."
        case .accountNotFound: "Account not found."
        case .accountNotFoundRetryable: "Account not found. Please try again."
        case .appNotFound: "App not found."
        case .appNotFoundRetryable: "App not found. Please try again."
        case .originalTransactionIDNotFound: "Original transaction id not found."
        case .originalTransactionIDNotFoundRetryable:
            "Original transaction id not found. Please try again."
        case .serverNotificationURLNotFound: "App Store server notification URL not found."
        case .testNotificationNotFound: "Test notification not found."
        case .statusRequestNotFound: "Status request not found."
        case .transactionIDNotFound: "Transaction id not found."
        case .appTransactionDoesNotExist: "App transaction does not exist."
        case .rateLimitExceeded: "Rate limit exceeded."
        case .generalInternal: "An unknown error occurred."
        case .generalInternalRetryable: "An unknown error occurred. Please try again."
        }
    }
}

extension APIFailure {
    /// The message of any code that Apple documents, for faults that answer with it.
    static func message(of code: Int) -> String {
        if let known = APIFailure(rawValue: code) { return known.message }
        if let message = further[code] { return message }
        return switch code / 10_000 {
        case 403: "Forbidden."
        case 404: "Not found."
        case 409: "Conflict."
        case 429: "Rate limit exceeded."
        case 500...599: "An unknown error occurred."
        default: "Bad request."
        }
    }

    /// Codes of fields and endpoints that the simulation does not judge itself.
    private static let further: [Int: String] = [
        4_000_043: "Transaction is not a consumable.",
        4_000_161: "Invalid image.",
        4_000_162: "Header is too long.",
        4_000_163: "Body is too long.",
        4_000_164: "Invalid locale.",
        4_000_175: "Alternative text is too long.",
        4_030_014: "Maximum number of images reached.",
        4_030_016: "Maximum number of messages reached.",
        4_030_017: "Message is not approved.",
        4_030_018: "Image is not approved.",
        4_030_019: "Image is in use.",
        4_040_014: "Image not found.",
        4_040_015: "Message not found.",
        4_090_000: "Image already exists.",
        4_090_001: "Message already exists.",
    ]
}
