/// Stored as UNIX milliseconds.
extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(unixMilliseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(unixMilliseconds)
    }
}
