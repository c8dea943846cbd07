extension SimulatorError {
    /// What a decoder has to say, in a sentence.
    static func sentence(of error: any Error) -> String {
        switch error {
        case let error as SimulatorError: error.description
        case DecodingError.dataCorrupted(let context):
            context.underlyingError.map { "\($0)" } ?? context.debugDescription
        case DecodingError.typeMismatch(_, let context), DecodingError.keyNotFound(_, let context),
            DecodingError.valueNotFound(_, let context):
            context.codingPath.map(\.stringValue).joined(separator: ".") + ": "
                + context.debugDescription
        default: "\(error)"
        }
    }
}
