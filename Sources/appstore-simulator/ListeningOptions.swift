import AppStoreSimulation
import ArgumentParser

/// The options of addresses, ports and TLS.
struct ListeningOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The IP address that the listeners take; 0.0.0.0 for all of this machine's.",
            discussion:
                "The control calls need no key: anyone who reaches them can change the world.",
            valueName: "address"))
    var bind = "127.0.0.1"

    @Option(help: "Port of the production API; 0 takes a free one.")
    var port = 0

    @Option(help: "Port of the sandbox API; 0 takes a free one.")
    var sandboxPort = 0

    @Option(help: "Port of the control calls and of the page for people; 0 takes a free one.")
    var controlPort = 0

    @Flag(
        name: .customLong("no-http2"),
        help: "Offer HTTP/1.1 alone, as behind some proxies; Apple offers HTTP/2 too.")
    var withoutHTTP2 = false

    @Option(
        name: .customLong("tls-name"),
        help: ArgumentHelp(
            "A further host name or address in the TLS certificate; may be repeated.",
            discussion: "localhost, 127.0.0.1, ::1 and Apple's four API hosts are in it.",
            valueName: "name"))
    var tlsNames: [String] = []

    init() {}

    mutating func validate() throws {
        for (name, value) in [
            ("--port", port), ("--sandbox-port", sandboxPort), ("--control-port", controlPort),
        ] where !(0...65_535).contains(value) {
            throw ValidationError("\(name) must be from 0 to 65535.")
        }
        guard NetworkAddress(bind) != nil else {
            throw ValidationError("--bind must be an IP address, such as 127.0.0.1.")
        }
        guard !tlsNames.contains("") else {
            throw ValidationError("--tls-name is a host name or an address, and not empty.")
        }
    }
}
