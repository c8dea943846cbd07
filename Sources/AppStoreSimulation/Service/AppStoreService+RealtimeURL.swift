import Foundation

/// Configure Realtime URL, Delete Realtime URL, Get Realtime URL.
extension AppStoreService {
    func configureRealtimeURL(_ request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let url = try request.decodedBody(RealtimeURLBody.self).url
        try retention.change { settings throws(APIFailure) in
            guard environment == .sandbox || settings.hasPassedTest else { throw .noPassingTest }
            settings[environment].realtimeURL = url
        }
        return .empty(status: 200)
    }

    func deleteRealtimeURL() throws(APIFailure) -> ServiceAnswer {
        try retention.changeContent(of: environment) { content throws(APIFailure) in
            guard content.realtimeURL != nil else { throw .realtimeURLNotFound }
            content.realtimeURL = nil
        }
        return .empty(status: 200)
    }

    func realtimeURL() throws(APIFailure) -> ServiceAnswer {
        guard let url = retention.content(of: environment).realtimeURL else {
            throw .realtimeURLNotFound
        }
        return .json { $0.field("realtimeURL", url) }
    }
}

/// Source: Retention Messaging API, `RealtimeUrlRequest`.
private struct RealtimeURLBody: Decodable {
    private static let longest = 256

    let url: String

    init(from decoder: any Decoder) throws {
        url = try BodyMembers(decoder).required(
            String.self, "realtimeURL", otherwise: .badRealtimeURL
        ) { text in
            guard text.unicodeScalars.count <= Self.longest, let url = URL(string: text) else {
                return false
            }
            return url.scheme == "https" && !(url.host() ?? "").isEmpty
        }
    }
}
