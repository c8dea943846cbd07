package import Subscriptions

/// Writes rows as CSV (RFC 4180) with their values as they are, so that an import reads them back.
package enum CSVRowWriter {
    /// The line that names the columns, for `SubscriptionField` or `TransactionField`.
    package static func appendHeader<Field: RawRepresentable<String>>(
        of columns: [Field], to output: inout [UInt8]
    ) {
        append(columns.map { FieldValue.text($0.rawValue) }, to: &output)
    }

    package static func append(
        _ row: LocalSubscription, _ columns: [SubscriptionField], to output: inout [UInt8]
    ) {
        append(columns.map(row.value(of:)), to: &output)
    }

    package static func append(_ row: LocalTransaction, to output: inout [UInt8]) {
        append(TransactionField.allCases.map(row.value(of:)), to: &output)
    }

    private static func append(_ values: [FieldValue], to output: inout [UInt8]) {
        for (index, value) in values.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            switch value {
            case .null: break
            case .text(let text): append(text, to: &output)
            case .integer(let number): output.append(contentsOf: String(number).utf8)
            case .time(let time): output.append(contentsOf: time.rfc3339.utf8)
            }
        }
        output.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        let needsQuotes = text.utf8.contains { byte in
            byte == quote || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")
                || byte == UInt8(ascii: "\r")
        }
        guard needsQuotes else {
            output.append(contentsOf: text.utf8)
            return
        }
        output.append(quote)
        for byte in text.utf8 {
            if byte == quote { output.append(quote) }
            output.append(byte)
        }
        output.append(quote)
    }
}
