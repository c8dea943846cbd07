/// Why a simulated App Store cannot be started.
package enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    case cannotWrite(path: String, reason: String)
    case cannotRead(path: String, reason: String)
    case certificates(reason: String)
    case cannotListen(reason: String)
    case badOption(String)

    package var description: String {
        switch self {
        case .cannotWrite(let path, let reason): "Cannot write \(path): \(reason)."
        case .cannotRead(let path, let reason): "Cannot read \(path): \(reason)."
        case .certificates(let reason): "Cannot make the throw-away certificates: \(reason)."
        case .cannotListen(let reason): "Cannot listen on loopback: \(reason)."
        case .badOption(let text): text
        }
    }
}
