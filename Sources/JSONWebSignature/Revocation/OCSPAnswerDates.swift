import FoundationEssentials
import SwiftASN1

/// The time that an OCSP answer about one certificate covers, in UNIX milliseconds (RFC 6960,
/// section 4.2.2.1).
///
/// swift-certificates checks these dates and keeps them to itself. They are believed only of answers
/// that its policy has verified.
struct OCSPAnswerDates: Hashable, Sendable {
    let thisUpdate: Int64
    let nextUpdate: Int64

    /// `nil` where the answer is not about the certificate, names no end, or cannot be read.
    init?(of answer: [UInt8], identity: [UInt8]) {
        guard let outer = try? Self.children(of: DER.parse(answer)), outer.count == 2,
            let typed = try? Self.children(of: outer[1]), let pair = typed.first,
            let bytes = try? Self.children(of: pair).last,
            let basic = try? DER.parse(ASN1OctetString(derEncoded: bytes).bytes),
            let data = try? Self.children(of: basic).first,
            let responses = try? Self.children(of: data).first(where: { $0.identifier == .sequence }
            ),
            let entries = try? Self.children(of: responses)
        else { return nil }
        for entry in entries {
            guard let members = try? Self.children(of: entry), let certID = members.first,
                let named = try? Self.children(of: certID).dropFirst().flatMap(\.encodedBytes),
                named == identity, members.count > 3,
                let start = Self.time(members[2]),
                // [0] EXPLICIT, where it is there at all.
                members[3].identifier
                    == ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific),
                let inner = try? Self.children(of: members[3]).first, let end = Self.time(inner)
            else { continue }
            thisUpdate = start
            nextUpdate = end
            return
        }
        return nil
    }

    private static func time(_ node: ASN1Node) -> Int64? {
        guard let time = try? GeneralizedTime(derEncoded: node) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(
            year: time.year, month: time.month, day: time.day, hour: time.hours,
            minute: time.minutes, second: time.seconds)
        return calendar.date(from: parts).map { Int64($0.timeIntervalSince1970) * 1000 }
    }

    private static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else {
            throw ASN1Error.unexpectedFieldType(node.identifier)
        }
        return Array(nodes)
    }
}
