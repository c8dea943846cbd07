/// Rows of the company's as ours, and ours as the company's.
extension TableMapping {
    /// The names of the company's columns that a page reads, in the order of the texts that `row`
    /// takes: the mapped columns in our order, then the version.
    package var readColumns: [MappedColumn] {
        read.map(\.column).filter { $0.name != nil }
            + (versionColumn.map { [.column($0, .integer)] } ?? [])
    }

    /// A row as it was read.
    ///
    /// - Parameter texts: The values of `readColumns`; `nil` for NULL.
    /// - Returns: The row, with what could not be read apart.
    package func row(of texts: [String?]) -> CompanyRow {
        var rest = texts[...]
        var keyParts: [SubscriptionField: String] = [:]
        var values: [SubscriptionField: FieldValue] = [:]
        var unreadable: [SubscriptionField: String] = [:]
        for (field, column) in read {
            let reading: FieldValue?
            var shown: String?
            switch column {
            case .constant(let text): reading = constant(text, of: field)
            case .column(_, let form), .member(of: _, path: _, let form):
                shown = rest.popFirst().flatMap(\.self)
                reading = value(of: shown, in: field, form)
            }
            if field == .environment, let environmentWords, let word = shown {
                // A key that no app has, so that the row is excluded and counted.
                keyParts[field] = environmentWords[word] ?? "unknown word: \(word)"
                if environmentWords[word] == nil { unreadable[field] = word }
            } else if Self.key.contains(field) {
                keyParts[field] = reading?.plainText ?? shown ?? ""
            } else if let reading {
                values[field] = reading
            } else {
                unreadable[field] = shown ?? ""
            }
        }
        let version = rest.popFirst().flatMap(\.self).flatMap { Int64($0) }
        return CompanyRow(
            key: SubscriptionKey(
                bundleID: keyParts[.bundleID] ?? "", environment: keyParts[.environment] ?? "",
                originalTransactionID: keyParts[.originalTransactionID] ?? ""),
            values: values, version: version, unreadable: unreadable)
    }

    /// A part of a key as the company writes it; `nil` where it has no word for it.
    func stored(_ text: String, of field: SubscriptionField) -> String? {
        guard field == .environment, let environmentWords else { return text }
        return environmentWords.first { $0.value == text }?.key
    }

    private func value(
        of text: String?, in field: SubscriptionField, _ form: ColumnForm
    ) -> FieldValue? {
        guard field == .status, let statusWords else {
            return form.value(of: text, as: field.form)
        }
        guard let text, !text.isEmpty else { return .null }
        return statusWords.numbers[text].map(FieldValue.integer)
    }

    /// A constant of the settings; text that is no value of the column is refused there.
    private func constant(_ text: String, of field: SubscriptionField) -> FieldValue? {
        switch field.form {
        case .text: .text(text)
        case .integer: Int64(text).map(FieldValue.integer)
        case .time: Timestamp(rfc3339: text).map(FieldValue.time)
        }
    }

    /// A value of ours as it is written; `nil` where the company's column cannot hold it.
    package func literal(
        _ value: FieldValue, in field: SubscriptionField, spelling: TimeSpelling = TimeSpelling()
    ) -> CompanyLiteral? {
        guard case .column(_, let form) = columns[field] else { return nil }
        guard field == .status, let statusWords, case .integer(let number) = value else {
            return form.literal(value, spelling: spelling)
        }
        return statusWords.written[number].map(CompanyLiteral.text)
    }

    /// The value that will be read again where this one is written: seconds lose the milliseconds,
    /// and one word may stand for several of Apple's numbers.
    package func kept(_ value: FieldValue, in field: SubscriptionField) -> FieldValue {
        guard case .column(_, let form) = columns[field] else { return value }
        switch literal(value, in: field) {
        case .text(let text):
            return self.value(of: text, in: field, form) ?? value
        case .integer(let number):
            return self.value(of: String(number), in: field, form) ?? value
        case .boolean, .null, nil: return value
        }
    }

    /// Whether a column that was given a value can show this one.
    ///
    /// A column may keep a time less precisely than Apple states it, and have one word for several
    /// of its statuses. What was written there stays known as Apple stated it, so a time is
    /// recognised by its leading digits, and a status by the word that the settings have for it now.
    ///
    /// - Parameters:
    ///   - read: What stands in the company's column.
    ///   - written: What was written there.
    ///   - field: Ours.
    /// - Returns: Whether nothing else has been written since, as far as the value tells.
    package func isReading(
        _ read: FieldValue, of written: FieldValue, in field: SubscriptionField
    ) -> Bool {
        if read == written { return true }
        guard case .column(_, let form) = columns[field] else { return false }
        switch (form, read, written) {
        case (.timestamptz, .time(let short), .time(let whole)),
            (.timestamp, .time(let short), .time(let whole)):
            return short.isCut(from: whole)
        default: return kept(written, in: field) == read
        }
    }

    /// Apple's numbers of a status that read back as another one.
    package var statusesKeptAs: [Int64: Int64] {
        guard let statusWords else { return [:] }
        return statusWords.written.reduce(into: [:]) { kept, pair in
            guard let number = statusWords.numbers[pair.value], number != pair.key else { return }
            kept[pair.key] = number
        }
    }

    /// The changes of a correction as the company keeps them: without columns that it does not keep.
    ///
    /// Values stay as Apple stated them, also where the column keeps less of them or has one word
    /// for several, because the ledger is held against what Apple signed.
    package func kept(
        _ changes: [SubscriptionField: FieldChange]
    ) -> [SubscriptionField: FieldChange] {
        let kept = writable.union(Self.key).union([.signedDate])
        return changes.filter { kept.contains($0.key) }
    }
}

extension Timestamp {
    /// Whether this is another time without its last digits: to the second, the tenth of it or the
    /// hundredth.
    fileprivate func isCut(from whole: Timestamp) -> Bool {
        [Milliseconds.perSecond, 100, 10].contains { step in
            let (_, rest) = whole.unixMilliseconds.floorDivided(by: step)
            return unixMilliseconds == whole.unixMilliseconds &- rest
        }
    }
}
