/// The pages that messages send a reader to, as the package installs them.
///
/// A message is read where no source is: "docs/backup.md" alone would name nothing there.
package enum DocumentationPage {
    package static let backup = place("backup.md")
    package static let database = place("database.md")
    package static let mysql = place("mysql.md")
    package static let postgresql = place("postgresql.md")
    package static let storePrograms = place("store-programs.md")

    private static func place(_ name: String) -> String { "/usr/share/doc/trueup/docs/" + name }
}
