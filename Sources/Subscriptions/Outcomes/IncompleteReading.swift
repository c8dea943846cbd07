/// The words by which a run's messages say that a reading at Apple fell short, and by which the first
/// line of its summary finds them.
package enum IncompleteReading {
    /// One history of notifications.
    package static let notToItsEnd = "was not read to its end"
    /// Histories of customers.
    package static let notToTheirEnd = "histories were not read to their end"
    /// Entries of a history whose certificates nobody could ask about.
    package static let undetermined = "entries of the notification history of"
    /// Longer ago than Apple keeps it.
    package static let tooLate = "longer ago than Apple keeps it"

    /// What was not read, as a clause.
    ///
    /// - Parameter messages: Those of the run, in the order of importance.
    /// - Returns: The first sentence that says so; `nil` where none does.
    package static func clause(among messages: [String]) -> String? {
        for message in messages {
            let sentence =
                message.firstRange(of: ". ").map { message[..<$0.lowerBound] }
                ?? message[...]
            guard
                [notToItsEnd, notToTheirEnd, undetermined, tooLate].contains(where: {
                    sentence.firstRange(of: $0) != nil
                })
            else { continue }
            let text = sentence.hasSuffix(".") ? sentence.dropLast() : sentence
            return text.hasPrefix("The ") ? "the " + text.dropFirst(4) : String(text)
        }
        return nil
    }
}
