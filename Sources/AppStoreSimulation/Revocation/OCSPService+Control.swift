import FoundationEssentials
import Synchronization

/// What a control call changes of the revocation service.
struct OCSPChange: Decodable {
    var mode: String?
    var delayMilliseconds: Int64?
    var nextUpdateSeconds: Double?

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["mode", "delay_ms", "next_update_seconds"])
        mode = try keys.value(String.self, "mode")
        delayMilliseconds = try keys.number("delay_ms", in: 0...3_600_000)
        nextUpdateSeconds = try keys.number(
            "next_update_seconds", in: -1_000_000_000...1_000_000_000.0)
    }
}

extension OCSPService {
    func apply(_ change: OCSPChange) throws(SimulatorError) {
        let mode = try change.mode.map { name throws(SimulatorError) in
            guard let mode = OCSPMode(rawValue: name) else {
                throw .badOption("\"mode\" must be one of \(OCSPMode.names).")
            }
            return mode
        }
        state.withLock { state in
            state.mode = mode ?? state.mode
            state.delayMilliseconds = change.delayMilliseconds ?? state.delayMilliseconds
            state.lifetimeSeconds = change.nextUpdateSeconds ?? state.lifetimeSeconds
        }
    }

    func resetCounts() {
        state.withLock { state in
            state.askedAboutLeaf = 0
            state.askedAboutIntermediate = 0
            state.unreadable = 0
        }
    }

    /// The mode, and what was asked since the log began.
    func report() -> ServiceAnswer {
        let state = state.withLock { $0 }
        return .json { json in
            json.field("mode", state.mode.rawValue)
            json.field("leaf", state.askedAboutLeaf)
            json.field("intermediate", state.askedAboutIntermediate)
            json.field("unreadable", state.unreadable)
        }
    }
}
