import ArgumentParser

/// What the simulator writes.
struct FileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the client's files are written: TLS root, signing root, private key.",
            discussion: "Default: a new folder for temporary files."))
    var folder: String?

    @Flag(
        help: ArgumentHelp(
            "Keep keys, roots and world in the folder for the next start.",
            discussion: "Needs --folder; the next start takes the same options."))
    var keep = false

    init() {}

    mutating func validate() throws {
        guard keep, folder == nil else { return }
        throw ValidationError("--keep needs --folder.")
    }
}
