import FoundationEssentials

/// Paths in the settings: relative ones start at the file that names them.
enum SettingsPath {
    /// `path` seen from the folder `directory`, without needless parts.
    static func resolve(_ path: String, from directory: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2).drop { $0 == "/" } }
        if rest.isEmpty || rest == "." { return directory }
        if directory == "." { return String(rest) }
        return directory.hasSuffix("/") ? directory + rest : directory + "/" + rest
    }

    /// The folder that holds a file: `.` for a bare name.
    static func directory(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// The name of a file without folder and `.yaml`.
    static func stem(of file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        for ending in [".yaml", ".yml"] where name.hasSuffix(ending) && name.count > ending.count {
            return String(name.dropLast(ending.count))
        }
        return name
    }
}
