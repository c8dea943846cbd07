import Crypto
import FoundationEssentials
import Glibc
package import Subscriptions

/// A plan file as it was read: which plan it says it is, and that it was not changed.
///
/// The corrections themselves are only hashed. The command that applies the plan takes them out of
/// the database that made it, where the same identity must be known.
package struct PlanDocument: Hashable, Sendable {
    package var head: PlanHead
    /// The plan's identity, computed from the file (see `PlanSeal.sha256`).
    package var sha256: String
    /// SHA-256 of the whole file, as `sha256sum` prints it.
    package var fileSHA256: String
    package var changes: Int

    /// The longest line that is read: one correction is about a thousand bytes.
    package static let lineBytesLimit = 1024 * 1024

    /// Reads a plan file to its end, in constant memory, and checks both of its digests.
    ///
    /// It blocks; a plan of 100,000 corrections takes about a second.
    package static func read(_ path: String) throws(PlanFileError) -> PlanDocument {
        var reading = PlanReading(path: path)
        var unpacker = path.hasSuffix(PackedMembers.suffix) ? MemberUnpacker() : nil
        do {
            let file = try FileDescriptor(
                path, O_RDONLY | O_NONBLOCK, named: "the plan \(path)", orSay: "cannot open")
            while let bytes = try file.read() {
                reading.note(bytes)
                guard unpacker != nil else {
                    try reading.add(bytes)
                    continue
                }
                unpacker?.take(bytes)
                while let content = try unpacker?.next(of: path) { try reading.add(content) }
            }
        } catch let error as PlanFileError {
            throw error
        } catch {
            throw .unreadable("\(error)")
        }
        if unpacker?.isAtEnd == false { throw .edited(MemberUnpacker.damaged(path)) }
        return try reading.finish()
    }

    /// The plan of a report folder: packed where it is large.
    package static func path(inFolder folder: String) -> String {
        let plain = folder + (folder.hasSuffix("/") ? "" : "/") + "plan.json"
        let packed = plain + PackedMembers.suffix
        return FileSystem.entry(at: plain) == .nothing && FileSystem.entry(at: packed) != .nothing
            ? packed : plain
    }
}

/// The reason why a file cannot be applied; the text says what happened and what to do next.
package enum PlanFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case unreadable(String)
    /// The file is not a plan (exit 65).
    case noPlan(String)
    /// The file is a plan, but was changed since it was written (exit 6).
    case edited(String)

    package var description: String {
        switch self {
        case .unreadable(let text), .noPlan(let text), .edited(let text): text
        }
    }
}

/// Unpacks a packed file a member at a time.
private struct MemberUnpacker {
    private var packed: [UInt8] = []

    var isAtEnd: Bool { packed.isEmpty }

    mutating func take(_ bytes: [UInt8]) { packed += bytes }

    /// The content of the next member; `nil` where it is not complete yet.
    mutating func next(of path: String) throws(PlanFileError) -> [UInt8]? {
        guard packed.count >= PackedMembers.headerBytes else { return nil }
        guard let size = PackedMembers.size(byHeader: packed) else {
            throw .edited(Self.damaged(path))
        }
        guard packed.count >= size else { return nil }
        guard let content = PackedMembers.content(of: Array(packed[..<size])) else {
            throw .edited(Self.damaged(path))
        }
        packed.removeFirst(size)
        return content
    }

    static func damaged(_ path: String) -> String {
        "\(path) is not as it was written: it cannot be unpacked. Nothing was changed in the "
            + "database. Take the file from its report folder again, or make a new plan with "
            + "\"trueup check\"."
    }
}

/// The state of reading a plan line by line.
private struct PlanReading {
    let path: String
    /// The beginning of the file, to say what it is when it is not a plan.
    private var opening: [UInt8] = []
    private var line: [UInt8] = []
    /// The newest whole line; only the next one tells whether it was the last.
    private var held: [UInt8]?
    private var head: PlanHead?
    private var statedIdentity = ""
    private var changes = 0
    /// Over all lines but the last.
    private var seal = SHA256()
    private var identity = SHA256()
    private var file = SHA256()

    init(path: String) {
        self.path = path
    }

    /// Notes the next bytes of the file itself.
    mutating func note(_ bytes: [UInt8]) { file.update(data: bytes) }

    /// Takes the next bytes of the content.
    mutating func add(_ bytes: [UInt8]) throws(PlanFileError) {
        if opening.isEmpty { opening = bytes }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line.append(contentsOf: rest[..<end])
            rest = rest[(end + 1)...]
            if let held { try take(held) }
            held = line
            line = []
        }
        line.append(contentsOf: rest)
        guard line.count <= PlanDocument.lineBytesLimit else { throw foreign }
    }

    mutating func finish() throws(PlanFileError) -> PlanDocument {
        guard let last = held, line.isEmpty, let head else { throw foreign }
        let stated = "],\"sha256\":\"\(seal.finalize().hexadecimal)\"}"
        let digest = identity.finalize().hexadecimal
        guard last == Array(stated.utf8), digest == statedIdentity else { throw edited }
        return PlanDocument(
            head: head, sha256: digest, fileSHA256: file.finalize().hexadecimal, changes: changes)
    }

    private mutating func take(_ line: [UInt8]) throws(PlanFileError) {
        seal.update(data: line)
        seal.update(data: [UInt8(ascii: "\n")])
        guard head == nil else {
            guard let correction = Self.withoutFate(line) else { throw edited }
            identity.update(data: correction + [UInt8(ascii: "\n")])
            changes += 1
            return
        }
        let opening = Array(",\"\(ReportFile.planList)\":[".utf8)
        guard line.count > opening.count, line.suffix(opening.count) == opening[...],
            let wire = try? JSONDecoder().decode(
                HeadWire.self, from: Data(line.dropLast(opening.count) + [UInt8(ascii: "}")]))
        else { throw foreign }
        let head = PlanHead(
            database: wire.database, plannedBy: wire.plannedBy, job: wire.job,
            scope: wire.scope ?? [])
        self.head = head
        statedIdentity = wire.identity
        identity.update(data: Array((head.canonical.rendered + "\n").utf8))
    }

    /// The members of the head that say which plan it is.
    private struct HeadWire: Decodable {
        var database: String
        var identity: String
        var plannedBy: String
        var job: String
        var scope: [String]?

        enum CodingKeys: String, CodingKey {
            case database, job, scope
            case identity = "plan_sha256"
            case plannedBy = "planned_by"
        }
    }

    /// A correction's line as the plan's identity covers it: what became of it is cut out.
    private static func withoutFate(_ line: [UInt8]) -> [UInt8]? {
        // A quote inside a text is escaped, so this is nowhere but at the member.
        let opening = Array(",\"fate\":\"".utf8)
        guard let start = firstRange(of: opening, in: line),
            let end = line[(start + opening.count)...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        let rest = line.last == UInt8(ascii: ",") ? line.dropLast() : line[...]
        return Array(rest[..<start] + rest[(end + 1)...])
    }

    private static func firstRange(of pattern: [UInt8], in line: [UInt8]) -> Int? {
        guard line.count >= pattern.count else { return nil }
        return (0...(line.count - pattern.count)).first { start in
            line[start] == pattern[0] && line[start..<(start + pattern.count)] == pattern[...]
        }
    }

    private var edited: PlanFileError {
        .edited(
            "\(path) is not as it was written: its digests do not hold. Nothing was changed in "
                + "the database. Take the file from its report folder again, or make a new plan "
                + "with \"trueup check\".")
    }

    /// A file that cannot be read as a plan: a plan that another program wrote again, or something
    /// else.
    private var foreign: PlanFileError {
        func holds(_ name: String) -> Bool {
            Self.firstRange(of: Array("\"\(name)\"".utf8), in: opening) != nil
        }
        let isUndo = holds("inverses")
        // A report folder has the name of its run.
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "latest"
        if head != nil || holds(ReportFile.planIdentity) || holds("expected_row_version") {
            return edited
        }
        return .noPlan(
            "\(path) is not a plan of this version of trueup. "
                + (isUndo
                    ? "It is the way back of a run; this shows it: "
                        + ["trueup", "undo", folder].shellCommand
                    : "Name the plan.json of a report folder."))
    }
}
