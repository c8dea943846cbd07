/// The version of the tool, as `--version` and every manifest state it.
package enum ToolVersion {
    package static let current = "0.1.0"
}
