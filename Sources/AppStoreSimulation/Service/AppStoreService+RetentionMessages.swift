/// Upload Message, Delete Message, Get Message List.
extension AppStoreService {
    func uploadMessage(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        let text = try request.decodedBody(RetentionMessageText.self)
        try retention.withContent(of: environment) { content throws(APIFailure) in
            guard content.message(id) == nil else { throw .messageAlreadyExists }
            guard content.messages.count < RetentionContent.highestCount else {
                throw .maximumNumberOfMessagesReached
            }
            try text.check(in: content)
            content.messages.append(
                RetentionContent.Message(
                    id: id, text: text, review: environment.reviewAfterUpload))
        }
        return .empty(status: 200)
    }

    /// Not idempotent; a default message that it was ends with it.
    func deleteMessage(id: String) throws(APIFailure) -> ServiceAnswer {
        let id = try Self.identifier(id)
        try retention.withContent(of: environment) { content throws(APIFailure) in
            guard let place = content.messages.firstIndex(where: { $0.id == id }) else {
                throw .messageNotFound
            }
            content.messages.remove(at: place)
            content.defaults = content.defaults.filter { $0.value != id }
        }
        return .empty(status: 200)
    }

    func messageList() throws(APIFailure) -> ServiceAnswer {
        let messages = retention.content(of: environment).messages
        return .json { json in
            json.key("messageIdentifiers")
            json.array { json in
                for message in messages {
                    json.object { json in
                        json.field("messageIdentifier", message.id)
                        json.field("messageState", message.review.rawValue)
                    }
                }
            }
        }
    }
}
