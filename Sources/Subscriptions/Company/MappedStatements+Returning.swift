extension MappedStatements {
    /// What makes a write tell the company's version of the row after it; empty without a version.
    ///
    /// - Parameter action: What the write does.
    /// - Returns: The end of the statement.
    package func returning(for action: RowAction) -> String {
        guard let version = mapping.versionColumn, action != .delete else { return "" }
        return " RETURNING " + quoted(version)
    }
}
