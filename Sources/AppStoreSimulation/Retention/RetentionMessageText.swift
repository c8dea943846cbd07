import FoundationEssentials

/// The texts and images of a message.
///
/// Source: Retention Messaging API, `UploadMessageRequestBody`.
struct RetentionMessageText: Decodable, Sendable {
    private static let longestHeader = 66
    private static let longestBody = 144
    private static let longestAltText = 150
    private static let longestBulletPoint = 66
    private static let mostBulletPoints = 5

    /// An image with its alternative text, or a bullet point, which has a text besides.
    struct Picture: Decodable, Sendable {
        let imageID: String
        let text: String?

        init(from decoder: any Decoder) throws {
            let members = try BodyMembers(decoder)
            let id = try members.required(
                String.self, "imageIdentifier", otherwise: .generalBadRequest)
            imageID = try AppStoreService.identifier(id)
            _ = try members.required(
                String.self, "altText", otherwise: .generalBadRequest
            )
            .limited(to: longestAltText, otherwise: .altTextTooLong)
            text = try members.optional(String.self, "text", otherwise: .generalBadRequest)
        }
    }

    let image: Picture?
    let bulletPoints: [Picture]

    /// Identifiers of all images that it shows.
    var imageIDs: [String] { (image.map { [$0.imageID] } ?? []) + bulletPoints.map(\.imageID) }

    init(from decoder: any Decoder) throws {
        let members = try BodyMembers(decoder)
        _ = try members.required(String.self, "header", otherwise: .generalBadRequest)
            .limited(to: Self.longestHeader, otherwise: .headerTooLong)
        _ = try members.required(String.self, "body", otherwise: .generalBadRequest)
            .limited(to: Self.longestBody, otherwise: .bodyTooLong)
        image = try members.optional(Picture.self, "image", otherwise: .generalBadRequest)
        bulletPoints =
            try members.optional([Picture].self, "bulletPoints", otherwise: .generalBadRequest)
            ?? []
        guard bulletPoints.count <= Self.mostBulletPoints else {
            throw APIFailure.tooManyBulletPoints
        }
        for point in bulletPoints {
            guard let text = point.text else { throw APIFailure.generalBadRequest }
            _ = try text.limited(
                to: Self.longestBulletPoint, otherwise: .bulletPointTextTooLong)
        }
        switch try members.optional(String.self, "headerPosition", otherwise: .generalBadRequest) {
        case nil, "ABOVE_BODY": break
        case "ABOVE_IMAGE":
            guard image != nil else { throw APIFailure.aboveImageRequiresImage }
        default: throw APIFailure.generalBadRequest
        }
    }

    /// Checks that the images exist and have the size for their place.
    func check(in content: RetentionContent) throws(APIFailure) {
        let wanted =
            (image.map { [($0.imageID, ImageSize.full)] } ?? [])
            + bulletPoints.map { ($0.imageID, .bulletPoint) }
        for (id, size) in wanted {
            guard let found = content.images[id] else { throw .imageNotFound }
            guard found.size == size else { throw .badImageSize }
        }
    }
}

extension String {
    /// The text, if it has at most so many characters.
    fileprivate func limited(to count: Int, otherwise failure: APIFailure) throws -> String {
        guard unicodeScalars.count <= count else { throw failure }
        return self
    }
}
