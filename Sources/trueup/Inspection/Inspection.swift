import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// What `inspect` found in one input.
enum Inspection {
    /// One JWS; `isAlone` when the verdict is on it alone, whatever is inside.
    case payload(InspectedPayload, isAlone: Bool)
    /// A JSON text.
    case answer(InspectedAnswer)
    /// JSON Lines, each with its number in the file.
    case lines([(number: Int, answer: InspectedAnswer)])

    /// Judges the bytes of a file.
    ///
    /// One line end after the text is the editor's and is cut off; any other white space belongs to
    /// the text and makes a JWS invalid, as everywhere.
    init(of bytes: [UInt8], as kind: PayloadKind?, by inspector: PayloadInspector) async throws {
        let text = Self.withoutLineEnd(bytes)
        if kind == nil, Self.isJSON(text) {
            self = await Self.unfolded(text, by: inspector)
            return
        }
        self = .payload(await inspector.inspect(text, as: kind), isAlone: kind != nil)
    }

    /// Nothing can be judged with a root that is no certificate.
    init(refused error: JSONWebSignatureError, kind: PayloadKind?) {
        let detail = "nothing is trusted: \(error.detail)"
        self = .payload(
            InspectedPayload(
                path: "", kind: kind, judgement: .failed(.certificate, detail), digest: ""),
            isAlone: true)
    }

    var judgement: Judgement {
        switch self {
        case .payload(let payload, isAlone: true): payload.judgement
        case .payload(let payload, isAlone: false): payload.overall
        case .answer(let answer): answer.overall
        case .lines(let lines): .worst(of: lines.map(\.answer.overall))
        }
    }

    private static func unfolded(
        _ text: ArraySlice<UInt8>, by inspector: PayloadInspector
    ) async -> Inspection {
        let whole = await inspector.unfold(json: Array(text))
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard whole.document == nil, lines.count > 1 else { return .answer(whole) }
        var answers: [(number: Int, answer: InspectedAnswer)] = []
        for (index, line) in lines.enumerated() where line.contains(where: { !isSpace($0) }) {
            answers.append((index + 1, await inspector.unfold(json: Array(line))))
        }
        // JSON that is broken, not lines of it: one reason rather than one for each line.
        guard answers.contains(where: { $0.answer.document != nil }) else { return .answer(whole) }
        return .lines(answers)
    }

    /// The first byte tells: a JWS begins with the base64url of its header.
    private static func isJSON(_ text: ArraySlice<UInt8>) -> Bool {
        text.first { !isSpace($0) } == UInt8(ascii: "{")
    }

    private static func withoutLineEnd(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        var text = bytes[...]
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        if text.count < bytes.count, text.last == UInt8(ascii: "\r") { text.removeLast() }
        return text
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
