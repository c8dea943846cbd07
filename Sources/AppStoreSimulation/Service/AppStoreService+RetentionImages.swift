import FoundationEssentials

/// Upload Image, Delete Image, Get Image List.
extension AppStoreService {
    /// An identifier that the developer chose: a UUID, in lower case.
    static func identifier(_ text: String) throws(APIFailure) -> String {
        guard let id = UUID(uuidString: text) else { throw .generalBadRequest }
        return id.uuidString.lowercased()
    }

    func uploadImage(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        var size = ImageSize.full
        if let text = request.value("imageSize") {
            guard let known = ImageSize(rawValue: text) else { throw .badImageSize }
            size = known
        }
        guard let image = PNGHeader(request.body), !image.hasTransparency, size.admits(image)
        else { throw .invalidImage }
        try retention.withContent(of: environment) { content throws(APIFailure) in
            guard content.image(id) == nil else { throw .imageAlreadyExists }
            guard content.images.count < RetentionContent.highestCount else {
                throw .maximumNumberOfImagesReached
            }
            content.images.append(
                RetentionContent.Image(
                    id: id, size: size, review: environment.reviewAfterUpload))
        }
        return .empty(status: 200)
    }

    /// Not idempotent: an image that does not exist is an error.
    func deleteImage(id: String) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        try retention.withContent(of: environment) { content throws(APIFailure) in
            guard let place = content.images.firstIndex(where: { $0.id == id }) else {
                throw .imageNotFound
            }
            guard !content.messages.contains(where: { $0.text.imageIDs.contains(id) }) else {
                throw .imageInUse
            }
            content.images.remove(at: place)
        }
        return .empty(status: 200)
    }

    func imageList() throws(APIFailure) -> ServiceAnswer {
        let images = retention.content(of: environment).images
        return .json { json in
            json.key("imageIdentifiers")
            json.array { json in
                for image in images {
                    json.object { json in
                        json.field("imageIdentifier", image.id)
                        json.field("imageState", image.review.rawValue)
                        json.field("imageSize", image.size.rawValue)
                    }
                }
            }
        }
    }
}
