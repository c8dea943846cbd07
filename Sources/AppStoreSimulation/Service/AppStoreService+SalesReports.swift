import Subscriptions

/// App Store Connect's API: Download sales and trends reports.
///
/// Taken from Apple's public pages and from what its users published of answers: that the file comes
/// with `Content-Encoding: agzip`, that these reports need a version, and what a 404 says. What a wrong
/// vendor number gets is unconfirmed.
extension AppStoreService {
    /// The newest version of each report; another one is refused.
    private static let versions: [SalesReports.Kind: String] = [
        .subscription: "1_4", .event: "1_4", .subscriber: "1_3",
    ]
    private static let keptDays: Int64 = 365

    func salesReport(_ request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        func filter(_ name: String) -> String { request.value("filter[\(name)]") ?? "" }
        guard let kind = SalesReports.Kind(rawValue: filter("reportType")),
            filter("reportSubType") == (kind == .subscriber ? "DETAILED" : "SUMMARY"),
            filter("frequency") == "DAILY"
        else {
            return .connectRefusal(
                400, "PARAMETER_ERROR.INVALID.INVALID_COMBINATION",
                "Some provided parameters cannot be used in this combination.")
        }
        guard filter("version") == Self.versions[kind] else {
            return .connectRefusal(
                400, "PARAMETER_ERROR.INVALID",
                "The version parameter you have specified is invalid. The latest version for this "
                    + "report is \(Self.versions[kind] ?? "").")
        }
        guard filter("vendorNumber") == app.vendorNumber else {
            return .connectRefusal(
                400, "PARAMETER_ERROR.INVALID", "Invalid vendor number specified.")
        }
        let noSales = ServiceAnswer.connectRefusal(
            404, "NOT_FOUND", "There were no sales for the date specified.")
        let date = filter("reportDate")
        guard let moment = Timestamp(rfc3339: date + "T00:00:00Z") else { return noSales }
        let day = moment.unixMilliseconds.floorDivided(by: 86_400_000).quotient
        let text = try withWorld { world, now throws(APIFailure) -> String? in
            guard SalesReports.isPublished(day, at: now),
                day > SalesReports.newestDay(at: now) - Self.keptDays
            else { return nil }
            return SalesReports.report(kind, ofDay: day, world)
        }
        if let text {
            let name = kind.fileName(date, vendor: app.vendorNumber) + ".gz"
            return ServiceAnswer(
                status: 200, contentType: "application/a-gzip",
                headers: [
                    ("Content-Encoding", "agzip"),
                    ("Content-Disposition", "attachment;filename=" + name),
                ], body: GzipBody.compressed(Array(text.utf8)))
        }
        if !SalesReports.isPublished(day, at: clock.now) {
            return .connectRefusal(
                404, "NOT_FOUND",
                "Report is not available yet. Daily reports for the Americas are available by 5 am "
                    + "Pacific Time.")
        }
        guard day > SalesReports.newestDay(at: clock.now) - Self.keptDays else {
            return .connectRefusal(
                410, "NOT_FOUND", "Report is no longer available. Reports are kept for 365 days.")
        }
        return noSales
    }
}

extension ServiceAnswer {
    /// An error in the form of App Store Connect's API.
    static func connectRefusal(_ status: Int, _ code: String, _ detail: String) -> ServiceAnswer {
        var json = JSONWriter(capacity: 256)
        json.object { json in
            json.key("errors")
            json.array { json in
                json.object { json in
                    json.field("status", String(status))
                    json.field("code", code)
                    json.field("title", "The request was refused.")
                    json.field("detail", detail)
                }
            }
        }
        return ServiceAnswer(
            status: status, contentType: "application/json", body: json.bytes)
    }

    static let connectUnauthorized = connectRefusal(
        401, "NOT_AUTHORIZED",
        "Provide a properly configured and signed bearer token, and make sure that it has not expired."
    )

    /// App Store Connect states the rest of the hour in a header of its own, and no `Retry-After`.
    static let connectRateLimited: ServiceAnswer = {
        var answer = connectRefusal(
            429, "RATE_LIMIT_EXCEEDED", "The request rate limit has been reached.")
        answer.headers = [("X-Rate-Limit", "user-hour-lim:3600;user-hour-rem:0;")]
        return answer
    }()
}
