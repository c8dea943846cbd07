import Subscriptions
import Synchronization

/// Apple's part in retention messaging: reviews, and real-time requests.
extension SimulatorControl {
    func setRetentionAddress(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            RetentionAddressText.self, request, form: #"{"address": "http://127.0.0.1:8080/x"}"#)
        guard let retention = services.first?.retention else { return .noSuchPath }
        do throws(APIFailure) {
            try retention.change { $0.address = text.address }
        } catch {
            throw Self.notKept
        }
        return .ok
    }

    func review(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            RetentionReviewText.self, request,
            form: #"{"message": "a7b8…", "state": "APPROVED"}"#)
        guard let service = services.first(where: { $0.environment == text.environment }) else {
            return .noSuchPath
        }
        do throws(APIFailure) {
            try service.retention.changeContent(of: text.environment) {
                content throws(APIFailure) in
                if let image = text.image { try content.images.review(image, as: text.state) }
                if let message = text.message {
                    try content.messages.review(message, as: text.state)
                }
            }
        } catch .imageNotFound, .messageNotFound {
            throw .badOption("Nothing with this identifier was uploaded in this environment.")
        } catch {
            throw Self.notKept
        }
        return .ok
    }

    /// Why a change is refused that `--keep` could not write.
    private static var notKept: SimulatorError {
        .badOption("--keep could not write retention.json, so nothing was changed.")
    }

    /// Sends a real-time request to the app's server, if one is configured, and tells what the customer
    /// is shown.
    func requestRetention(_ request: ServiceRequest) async -> ServiceAnswer {
        do throws(SimulatorError) {
            _ = try ControlQuery(request)
            let text = try decode(
                RetentionRequestText.self, request, form: #"{"customer": "anna"}"#)
            let (service, account, chain) = try find(text.customer, text.environment)
            let subject = service.world.state.withLock { world in
                let known = chain.map { [$0] } ?? world.chains(ofAccount: account)
                return known.last { world.chains[$0].isSubscription }
                    .flatMap { world.realtimeSubject(chain: $0) }
            }
            guard let subject else {
                throw .badOption("\"\(text.customer)\" has no subscription to look at.")
            }
            return try await requestRetention(text, subject: subject, service: service)
        } catch {
            return .refusedControl(error.description)
        }
    }

    private func requestRetention(
        _ text: RetentionRequestText, subject: RealtimeSubject, service: AppStoreService
    ) async throws(SimulatorError) -> ServiceAnswer {
        let content = service.retention.content(of: service.environment)
        guard content.realtimeURL != nil else {
            let shown = RealtimeAnswer.byDefault(
                because: nil, product: subject.product, locale: text.locale, content: content)
            return .json { shown.write(into: &$0) }
        }
        guard let target = service.realtimeTarget else {
            throw .badOption(
                "The configured URL is not on loopback; POST /_simulator/retention names an "
                    + "address that is called instead.")
        }
        guard let call = try? service.realtimeCall(about: subject, locale: text.locale) else {
            throw .badOption("The request cannot be signed.")
        }
        let answer = await SessionPost.send(
            call.body, to: target.url, timeout: .milliseconds(text.timeoutMilliseconds))
        let shown =
            answer.failureName.map { failure in
                RealtimeAnswer.byDefault(
                    because: failure, product: subject.product, locale: text.locale,
                    content: content)
            }
            ?? RealtimeAnswer.display(
                for: answer.body, product: subject.product, locale: text.locale,
                content: content, catalogue: service.catalogue)
        return .json { json in
            json.field("realtime_url", target.configured)
            json.field("request_identifier", call.requestIdentifier)
            json.field("result", answer.failureName ?? "SUCCESS")
            json.field("status", answer.status == 0 ? nil : answer.status)
            json.field("milliseconds", answer.milliseconds)
            shown.write(into: &json)
        }
    }
}

extension RetentionDisplay {
    fileprivate func write(into json: inout JSONWriter) {
        json.field("shown", kind.rawValue)
        json.field("message_identifier", messageIdentifier)
        json.field("product_id", productID)
        json.field("refused", refused)
    }
}
