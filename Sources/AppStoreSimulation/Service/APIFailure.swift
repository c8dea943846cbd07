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
    case invalidRefundPreference = 4_000_044
    case invalidTransactionTypeNotSupported = 4_000_047
    case appTransactionIDNotSupported = 4_000_048
    case invalidImage = 4_000_161
    case headerTooLong = 4_000_162
    case bodyTooLong = 4_000_163
    case invalidLocale = 4_000_164
    case altTextTooLong = 4_000_175
    case invalidAppAccountTokenUUID = 4_000_183
    case familyTransactionNotSupported = 4_000_185
    case transactionIDIsNotOriginal = 4_000_187
    case consumptionPercentageAutoRenewable = 4_000_209
    case invalidPerformanceTestRequest = 4_000_211
    case invalidRequestID = 4_000_212
    case existingPerformanceTestRun = 4_000_213
    case badRealtimeURL = 4_000_215
    case badImageSize = 4_000_216
    case tooManyBulletPoints = 4_000_218
    case bulletPointTextTooLong = 4_000_219
    case aboveImageRequiresImage = 4_000_224
    case subscriptionExtensionIneligible = 4_030_004
    case subscriptionMaxExtension = 4_030_005
    case familySharedSubscriptionExtensionIneligible = 4_030_007
    case maximumNumberOfImagesReached = 4_030_014
    case maximumNumberOfMessagesReached = 4_030_016
    case messageNotApproved = 4_030_017
    case imageNotApproved = 4_030_018
    case imageInUse = 4_030_019
    case noPassingTest = 4_030_026
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
    case imageNotFound = 4_040_014
    case messageNotFound = 4_040_015
    case performanceTestRunNotFound = 4_040_018
    case appTransactionDoesNotExist = 4_040_019
    case defaultMessageNotFound = 4_040_020
    case realtimeURLNotFound = 4_040_021
    case imageAlreadyExists = 4_090_000
    case messageAlreadyExists = 4_090_001
    case rateLimitExceeded = 4_290_000
    case generalInternal = 5_000_000
    case generalInternalRetryable = 5_000_001
    // Apple names these; their numbers are not known, so these are the simulator's own.
    case noAvailableSeats = 4_000_901
    case transactionNotDevManagedGroup = 4_000_902
    case invalidLimit = 4_000_903
    case invalidGroupID = 4_000_904
    case appTransactionIDNotFound = 4_040_901
    case seatClaimIDNotFound = 4_040_902
    case groupNotFound = 4_040_903

    package var httpStatus: Int { rawValue / 10_000 }

    /// Apple's message, as its documentation of the error states it.
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
        case .startDateTooFarInPast:
            "Invalid request. The start date is earlier than the allowed start date."
        case .startDateAfterEndDate:
            "Invalid request. The end date precedes the start date or the dates are the same."
        case .invalidPaginationToken: "Invalid request. The pagination token is invalid."
        case .invalidStartDate:
            "Invalid request. The start date is not a timestamp value represented in milliseconds."
        case .invalidEndDate:
            "Invalid request. The end date is not a timestamp value represented in milliseconds."
        case .paginationTokenExpired: "Invalid request. The pagination token is expired."
        case .invalidNotificationType:
            "Invalid request. The notification type or subtype is invalid."
        case .multipleFiltersSupplied:
            "Invalid request. Supply either a transaction id or a notification type, but not both."
        case .invalidTestNotificationToken:
            "Invalid request. The test notification token is invalid."
        case .invalidSort: "Invalid request. The sort parameter is invalid."
        case .invalidProductType: "Invalid request. The product type parameter is invalid."
        case .invalidProductID: "Invalid request. The product id parameter is invalid."
        case .invalidSubscriptionGroupIdentifier:
            "Invalid request. The subscription group identifier parameter is invalid."
        case .invalidExcludeRevoked: "Invalid exclude revoked."
        case .invalidInAppOwnershipType:
            "Invalid request. The in-app ownership type parameter is invalid."
        case .invalidEmptyStorefrontCountryCodeList:
            "Invalid request. If provided, the list of storefront country codes must not be empty."
        case .invalidStorefrontCountryCode:
            "Invalid request. A storefront country code was invalid."
        case .invalidRevoked: "Invalid request. The revoked parameter is invalid."
        case .invalidStatus: "Invalid request. The status parameter is invalid."
        case .invalidAccountTenure: "Invalid request. The account tenure field is invalid."
        case .invalidAppAccountToken:
            "Invalid request. The app account token field must contain a valid UUID or an empty "
                + "string."
        case .invalidConsumptionStatus: "Invalid request. The consumption status field is invalid."
        case .invalidCustomerConsented:
            "Invalid request. The customer consented field is required and must indicate the "
                + "customer consented."
        case .invalidDeliveryStatus: "Invalid request. The delivery status field is invalid."
        case .invalidLifetimeDollarsPurchased:
            "Invalid request. The lifetime dollars purchased field is invalid."
        case .invalidLifetimeDollarsRefunded:
            "Invalid request. The lifetime dollars refunded field is invalid."
        case .invalidPlatform: "Invalid request. The platform field is invalid."
        case .invalidPlayTime: "Invalid request. The playtime field is invalid."
        case .invalidSampleContentProvided:
            "Invalid request. The sample content provided field is invalid."
        case .invalidUserStatus: "Invalid request. The user status field is invalid."
        case .invalidRefundPreference: "Invalid request. The refund preference field is invalid."
        case .invalidTransactionTypeNotSupported:
            "Invalid request. The transaction id doesn't represent a supported in-app purchase "
                + "type."
        case .appTransactionIDNotSupported:
            "Invalid request. App transactions aren't supported by this endpoint."
        case .invalidAppAccountTokenUUID:
            "Invalid request. The app account token field must be a valid UUID."
        case .familyTransactionNotSupported:
            "Invalid request. Family Sharing transactions aren't supported by this endpoint."
        case .transactionIDIsNotOriginal:
            "Invalid request. The transaction ID provided is not an original transaction ID."
        case .consumptionPercentageAutoRenewable:
            "Invalid request. The consumption percentage field is not supported for "
                + "auto-renewable subscription transactions."
        case .subscriptionExtensionIneligible:
            "Forbidden - subscription state ineligible for extension."
        case .subscriptionMaxExtension:
            "Forbidden - subscription has reached maximum extension count."
        case .familySharedSubscriptionExtensionIneligible:
            "Subscriptions that users obtain through Family Sharing can't get a renewal date "
                + "extension directly."
        case .accountNotFound: "Account not found."
        case .accountNotFoundRetryable: "Account not found. Please try again."
        case .appNotFound: "App not found."
        case .appNotFoundRetryable: "App not found. Please try again."
        case .originalTransactionIDNotFound: "Original transaction id not found."
        case .originalTransactionIDNotFoundRetryable:
            "Original transaction id not found. Please try again."
        case .serverNotificationURLNotFound:
            "No App Store Server Notification URL found for provided app. Check that a URL is "
                + "configured in App Store Connect for this environment."
        case .testNotificationNotFound:
            "Either the test notification token is expired or the notification and status are "
                + "not yet available."
        case .statusRequestNotFound:
            "The server didn't find a subscription-renewal-date extension request for this "
                + "requestIdentifier and productId combination."
        case .transactionIDNotFound: "Transaction id not found."
        case .appTransactionDoesNotExist: "No AppTransaction exists for the customer."
        case .rateLimitExceeded: "Rate limit exceeded."
        case .invalidImage: "Invalid image."
        case .headerTooLong: "Header is too long."
        case .bodyTooLong: "Body is too long."
        case .invalidLocale: "Invalid locale."
        case .altTextTooLong: "Alternative text is too long."
        case .invalidPerformanceTestRequest: "Invalid performance test request."
        case .invalidRequestID: "Invalid request id."
        case .existingPerformanceTestRun: "A performance test is running already."
        case .badRealtimeURL: "Invalid real-time URL."
        case .badImageSize: "Invalid image size."
        case .tooManyBulletPoints: "Too many bullet points."
        case .bulletPointTextTooLong: "Bullet point text is too long."
        case .aboveImageRequiresImage: "A header above the image requires an image."
        case .maximumNumberOfImagesReached: "Maximum number of images reached."
        case .maximumNumberOfMessagesReached: "Maximum number of messages reached."
        case .messageNotApproved: "Message is not approved."
        case .imageNotApproved: "Image is not approved."
        case .imageInUse: "Image is in use."
        case .noPassingTest: "A passed performance test is required."
        case .imageNotFound: "Image not found."
        case .messageNotFound: "Message not found."
        case .performanceTestRunNotFound: "Performance test run not found."
        case .defaultMessageNotFound: "Default message not found."
        case .realtimeURLNotFound: "Real-time URL not found."
        case .imageAlreadyExists: "Image already exists."
        case .messageAlreadyExists: "Message already exists."
        case .noAvailableSeats: "NoAvailableSeatsError"
        case .transactionNotDevManagedGroup: "TransactionNotDevManagedGroupError"
        case .invalidLimit: "InvalidLimitError"
        case .invalidGroupID: "InvalidGroupIdError"
        case .appTransactionIDNotFound: "AppTransactionIdNotFoundError"
        case .seatClaimIDNotFound: "SeatClaimIdNotFoundError"
        case .groupNotFound: "GroupNotFoundError"
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

    /// Codes of fields and endpoints that the simulation does not check itself.
    private static let further: [Int: String] = [
        4_000_043:
            "Invalid request. The transaction id parameter must represent a consumable in-app purchase."
    ]
}
