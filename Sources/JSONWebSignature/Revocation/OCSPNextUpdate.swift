import FoundationEssentials
import SwiftASN1

/// Reads the one date of an OCSP answer that swift-certificates checks and keeps to itself.
///
/// To be asked only of answers that its policy has verified.
enum OCSPNextUpdate {
    /// When the answer about this certificate ends (RFC 6960, section 4.2.1), in UNIX milliseconds.
    ///
    /// - Returns: `nil` where it names no such date or cannot be read.
    static func unixMilliseconds(in answer: [UInt8], identity: [UInt8]) -> Int64? {
        guard let outer = try? children(of: DER.parse(answer)), outer.count == 2,
            let typed = try? children(of: outer[1]), let pair = typed.first,
            let bytes = try? children(of: pair).last,
            let basic = try? DER.parse(ASN1OctetString(derEncoded: bytes).bytes),
            let data = try? children(of: basic).first,
            let responses = try? children(of: data).first(where: { $0.identifier == .sequence }),
            let entries = try? children(of: responses)
        else { return nil }
        for entry in entries {
            guard let members = try? children(of: entry), let certID = members.first,
                let named = try? children(of: certID).dropFirst().flatMap(\.encodedBytes),
                named == identity
            else { continue }
            return members.dropFirst(3).lazy.compactMap(nextUpdate).first
        }
        return nil
    }

    /// `[0] EXPLICIT GeneralizedTime`; `nil` for another member.
    private static func nextUpdate(_ node: ASN1Node) -> Int64? {
        guard node.identifier == ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific),
            let inner = try? children(of: node).first,
            let time = try? GeneralizedTime(derEncoded: inner)
        else { return nil }
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
