/// Something that the app uploads and Apple reviews before it is shown: an image or a message.
protocol RetentionUpload: Codable, Hashable, Sendable {
    /// The word that begins Apple's names of its members, such as `imageState`.
    static var word: String { get }
    static var alreadyExists: APIFailure { get }
    static var tooMany: APIFailure { get }
    static var notFound: APIFailure { get }

    var id: String { get }
    var review: RetentionContent.Review { get set }

    /// Writes what a list contains besides identifier and state.
    func writeFurther(into json: inout JSONWriter)
}

/// The uploads of one kind, in their order.
struct RetentionUploads<Upload: RetentionUpload>: Codable, Hashable, Sendable {
    /// Source: Retention Messaging API, Upload Image and Upload Message.
    private static var highestCount: Int { 2000 }

    private(set) var list: [Upload] = []

    subscript(id: String) -> Upload? { list.first { $0.id == id } }

    mutating func add(_ upload: Upload) throws(APIFailure) {
        guard self[upload.id] == nil else { throw Upload.alreadyExists }
        guard list.count < Self.highestCount else { throw Upload.tooMany }
        list.append(upload)
    }

    /// Not idempotent: what does not exist is an error.
    mutating func remove(_ id: String) throws(APIFailure) {
        try list.remove(at: place(of: id))
    }

    mutating func review(_ id: String, as state: RetentionContent.Review) throws(APIFailure) {
        try list[place(of: id)].review = state
    }

    private func place(of id: String) throws(APIFailure) -> Int {
        guard let place = list.firstIndex(where: { $0.id == id }) else { throw Upload.notFound }
        return place
    }

    /// Apple's list of them.
    func write(into json: inout JSONWriter) {
        json.key("\(Upload.word)Identifiers")
        json.array { json in
            for upload in list {
                json.object { json in
                    json.field("\(Upload.word)Identifier", upload.id)
                    json.field("\(Upload.word)State", upload.review.rawValue)
                    upload.writeFurther(into: &json)
                }
            }
        }
    }
}

struct RetentionImage: RetentionUpload {
    static let word = "image"
    static let alreadyExists = APIFailure.imageAlreadyExists
    static let tooMany = APIFailure.maximumNumberOfImagesReached
    static let notFound = APIFailure.imageNotFound

    let id: String
    let size: ImageSize
    var review: RetentionContent.Review

    func writeFurther(into json: inout JSONWriter) {
        json.field("imageSize", size.rawValue)
    }
}

struct RetentionMessage: RetentionUpload {
    static let word = "message"
    static let alreadyExists = APIFailure.messageAlreadyExists
    static let tooMany = APIFailure.maximumNumberOfMessagesReached
    static let notFound = APIFailure.messageNotFound

    let id: String
    /// Identifiers of all images that it shows.
    let imageIDs: [String]
    var review: RetentionContent.Review

    func writeFurther(into json: inout JSONWriter) {}
}

/// Apple's `imageSize`.
enum ImageSize: String, Codable, Sendable, CaseIterable {
    case full = "FULL_SIZE"
    case bulletPoint = "BULLET_POINT"
}
