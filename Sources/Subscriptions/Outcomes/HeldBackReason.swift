/// Why a row is left as it is although it gives access that Apple ended.
package enum HeldBackReason {
    package static func text(until originalTransactionID: String) -> String {
        "held back until \(originalTransactionID) is in the table"
    }
}
