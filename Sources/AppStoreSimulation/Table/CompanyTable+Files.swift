import Subscriptions

extension CompanyTable {
    /// Writes `table.csv` and `planted.json` into a folder.
    func write(
        into folder: String
    ) throws(SimulatorError) -> (table: String, planted: String) {
        let paths = (table: folder + "/table.csv", planted: folder + "/planted.json")
        try SimulatorFolder.write(csv, to: paths.table, permissions: 0o644)
        try SimulatorFolder.write(plantedJSON, to: paths.planted, permissions: 0o644)
        return paths
    }

    /// RFC 4180 with a header line; no value needs quotes.
    var csv: String {
        var text = SubscriptionField.allCases.map(\.rawValue).joined(separator: ",") + "\r\n"
        for row in rows {
            text += SubscriptionField.allCases.map { row.value(of: $0).plainText }
                .joined(separator: ",")
            text += "\r\n"
        }
        return text
    }

    var plantedJSON: String {
        var json = JSONWriter()
        json.array { json in
            for drift in planted { drift.write(into: &json) }
        }
        return String(decoding: json.bytes, as: UTF8.self) + "\n"
    }
}
