/// Everything that a run stores and reads, each part behind the port of who asks for it.
package struct RunPorts: Sendable {
    package let table: any CompanyTable
    package let notes: any RowNotesBook
    package let runs: any RunBook
    package let pass: any PassBook
    package let agenda: any AgendaBook
    package let recovery: any RecoveryBook
    package let plans: any StoredPlans
    package let ledger: any PlanLedger
    package let canary: any CanaryBook
    package let causes: any CauseBook

    /// The rows and all books in one place.
    package init(
        _ store: some CompanyTable & RowNotesBook & RunBook & PassBook & AgendaBook & RecoveryBook
            & StoredPlans
            & PlanLedger & CanaryBook & CauseBook
    ) {
        table = store
        notes = store
        runs = store
        pass = store
        agenda = store
        recovery = store
        plans = store
        ledger = store
        canary = store
        causes = store
    }
}
