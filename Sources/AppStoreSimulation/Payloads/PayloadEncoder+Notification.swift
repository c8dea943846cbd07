import Subscriptions

extension PayloadEncoder {
    /// The payload of a notification, which contains the signed transaction and renewal info.
    func notification(
        _ record: NotificationRecord, about subject: NotificationSubject?, uuid: String,
        transaction: [UInt8]?, renewal: [UInt8]?, appTransaction: [UInt8]?
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 12_000)
        json.object { json in
            json.field("notificationType", record.event.type)
            json.field("subtype", hasUnknownValues ? "FROM_THE_FUTURE" : record.event.subtype)
            json.field("notificationUUID", uuid)
            if let subject {
                write(subject, appTransaction: appTransaction, into: &json)
                return finish(record, into: &json)
            }
            json.key("data")
            json.object { json in
                if environment == .production { json.field("appAppleId", app.appAppleID) }
                json.field("bundleId", app.bundleID)
                json.field("bundleVersion", "1.4.2")
                json.field("environment", environment.rawValue)
                if let transaction { json.field("signedTransactionInfo", jws: transaction) }
                if let renewal { json.field("signedRenewalInfo", jws: renewal) }
                if record.status > 0 { json.field("status", record.status) }
                if record.event == .consumptionRequest {
                    json.field("consumptionRequestReason", "UNSATISFIED_WITH_PURCHASE")
                }
            }
            finish(record, into: &json)
        }
        return json.bytes
    }

    private func finish(_ record: NotificationRecord, into json: inout JSONWriter) {
        json.field("version", "2.0")
        json.field("signedDate", record.date)
    }

    /// What it has instead of `data`.
    private func write(
        _ subject: NotificationSubject, appTransaction: [UInt8]?, into json: inout JSONWriter
    ) {
        switch subject {
        case .massExtension(let request): summary(of: request, into: &json)
        case .appTransaction:
            json.key("appData")
            json.object { json in
                json.field("environment", environment.rawValue)
                if environment == .production { json.field("appAppleId", app.appAppleID) }
                json.field("bundleId", app.bundleID)
                if let appTransaction {
                    json.field("signedAppTransactionInfo", jws: appTransaction)
                }
            }
        case .releasedSeats(let ids):
            json.key("unclaimInfo")
            json.object { json in
                json.key("unclaimSeatIds")
                json.array { json in
                    for id in ids { json.string(id) }
                }
            }
        case .externalPurchase(let account, let created):
            json.key("externalPurchaseToken")
            json.object { json in
                json.field(
                    "externalPurchaseId", externalPurchaseID(account: account, created: created))
                json.field("tokenCreationDate", created)
                json.field("appAppleId", app.appAppleID)
                json.field("bundleId", app.bundleID)
            }
        }
    }

    /// An id of the sandbox begins with `SANDBOX`: no other member tells the environment.
    private func externalPurchaseID(account: Int, created: Timestamp) -> String {
        let uuid = identifiers.uuid(
            UInt64(bitPattern: created.unixMilliseconds), UInt64(account) << 8 | 0x45)
        return environment == .sandbox ? "SANDBOX_" + uuid : uuid
    }

    private func summary(of request: MassExtension, into json: inout JSONWriter) {
        json.key("summary")
        json.object { json in
            json.field("environment", environment.rawValue)
            if environment == .production { json.field("appAppleId", app.appAppleID) }
            json.field("bundleId", app.bundleID)
            json.field("productId", catalogue.products[Int(request.product)].id)
            json.field("requestIdentifier", request.requestIdentifier)
            if !request.storefronts.isEmpty {
                json.key("storefrontCountryCodes")
                json.array { json in
                    for country in request.storefronts { json.string(country) }
                }
            }
            json.field("succeededCount", request.result?.succeeded)
            json.field("failedCount", request.result?.failed)
        }
    }

    /// The UUID of a notification, the same in all attempts to deliver it.
    func notificationUUID(_ record: NotificationRecord) -> String {
        identifiers.uuid(
            UInt64(bitPattern: record.date.unixMilliseconds),
            UInt64(bitPattern: Int64(record.chain)) << 8 | UInt64(record.event.rawValue)
                | UInt64(record.repetition) << 56)
    }

    /// The payload of an app transaction.
    func appTransaction(account: Int, bought: Timestamp, now: Timestamp) -> [UInt8] {
        var json = JSONWriter(capacity: 700)
        json.object { json in
            json.field("receiptType", environment.rawValue)
            if environment == .production { json.field("appAppleId", app.appAppleID) }
            json.field("bundleId", app.bundleID)
            json.field("applicationVersion", "1.4.2")
            json.field("versionExternalIdentifier", 871_234_567)
            json.field("receiptCreationDate", now)
            json.field("requestDate", now)
            json.field("originalPurchaseDate", bought)
            json.field("originalApplicationVersion", "1.0")
            json.field("appTransactionId", String(identifiers.appTransactionID(account: account)))
            json.field("originalPlatform", "iOS")
            json.field(
                "deviceVerification",
                "n2Yt0dGFkV4nU1QX8v8Q3bU0b1l9bVQm0mM1bL8p9t5s2v0J8xQnY1p5cQyq7r8s")
            json.field("deviceVerificationNonce", identifiers.uuid(UInt64(account), 7))
        }
        return json.bytes
    }
}
