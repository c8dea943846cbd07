import FoundationEssentials

/// Upload Image, Delete Image, Get Image List; the same for messages.
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
        try retention.changeContent(of: environment) { content throws(APIFailure) in
            try content.images.add(
                RetentionImage(id: id, size: size, review: environment.reviewAfterUpload))
        }
        return .empty(status: 200)
    }

    func uploadMessage(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        let text = try request.decodedBody(RetentionMessageText.self)
        try retention.changeContent(of: environment) { content throws(APIFailure) in
            try content.messages.add(
                RetentionMessage(
                    id: id, imageIDs: text.imageIDs, review: environment.reviewAfterUpload))
            try text.check(in: content)
        }
        return .empty(status: 200)
    }

    func deleteImage(id: String) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        try retention.changeContent(of: environment) { content throws(APIFailure) in
            try content.images.remove(id)
            guard !content.messages.list.contains(where: { $0.imageIDs.contains(id) }) else {
                throw .imageInUse
            }
        }
        return .empty(status: 200)
    }

    /// A default message that it was ends with it.
    func deleteMessage(id: String) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        try retention.changeContent(of: environment) { content throws(APIFailure) in
            try content.messages.remove(id)
            content.defaults = content.defaults.filter { $0.value != id }
        }
        return .empty(status: 200)
    }

    /// Get Image List or Get Message List.
    func list<Upload>(
        of uploads: (RetentionContent) -> RetentionUploads<Upload>
    ) -> ServiceAnswer {
        let uploads = uploads(retention.content(of: environment))
        return .json { uploads.write(into: &$0) }
    }
}
