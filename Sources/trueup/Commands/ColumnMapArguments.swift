import RowFiles
import Subscriptions

/// `--map COLUMN=OURS` and `--ignore COLUMN` as they were typed, checked against our columns.
struct ColumnMapArguments {
    let mapping: ColumnMapping

    /// What is wrong with an argument, for the person who typed it.
    struct Mistake: Error, Hashable, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - map: `COLUMN=OURS`; `COLUMN=` ignores the column.
    ///   - ignore: names of columns.
    ///   - known: our columns.
    /// - Throws: `Mistake`, which ends with 64.
    init(map: [String], ignore: [String], known: [String]) throws(Mistake) {
        var ours: [String: String?] = [:]
        var sources: [String: String] = [:]
        for argument in map {
            // Our names hold no equals sign; those of a file may.
            guard let sign = argument.lastIndex(of: "="), sign > argument.startIndex else {
                throw Mistake(
                    description: "--map \(argument) is not COLUMN=OURS (the file's column, ours).")
            }
            let column = String(argument[..<sign])
            let target = String(argument[argument.index(after: sign)...])
            guard ours[column] == nil else {
                throw Mistake(description: "--map names the column \(column) twice.")
            }
            guard !target.isEmpty else {
                ours[column] = .some(.none)
                continue
            }
            guard known.contains(target) else {
                let nearest = NearestName.suggestion(for: target, among: known)
                throw Mistake(
                    description: "--map \(argument): there is no column \(target) of ours; "
                        + (nearest.map { "did you mean \($0)?" }
                            ?? "known are \(known.joined(separator: ", "))."))
            }
            if let other = sources[target] {
                throw Mistake(
                    description: "--map gives \(target) two columns of the file, \(other) and "
                        + "\(column); ignore one of them.")
            }
            sources[target] = column
            ours[column] = target
        }
        for column in ignore {
            guard ours[column] == nil else {
                throw Mistake(
                    description: "The column \(column) is named twice by --map and --ignore.")
            }
            ours[column] = .some(.none)
        }
        mapping = ColumnMapping(ours)
    }
}
