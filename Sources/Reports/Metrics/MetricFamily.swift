/// One metric with all its samples.
struct MetricFamily {
    typealias Sample = (labels: [(name: String, value: String)], value: String)

    let name: String
    let help: String
    let samples: [Sample]

    init(_ name: String, _ help: String, _ samples: [Sample]) {
        self.name = name
        self.help = help
        self.samples = samples
    }

    func text(labelled common: [(name: String, value: String)]) -> String {
        var text = "# HELP \(name) \(help)\n# TYPE \(name) gauge\n"
        for sample in samples {
            let labels = (common + sample.labels)
                .map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
            text += "\(name){\(labels)} \(sample.value)\n"
        }
        return text
    }

    /// The format knows these three escapes and no others.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
