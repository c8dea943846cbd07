import AppStoreServerAPI
import EventDelivery
import PostgresDatabase
import ReconciliationRun
import Reports
import SubscriptionStore

// Which adapter stands behind which port. A port is declared beside its consumer, and an adapter
// never imports a consumer, so only here both are known.

extension SQLiteStore: CompanyTable, RowNotesBook, RunBook, PassBook, AgendaBook, RecoveryBook,
    StoredPlans,
    PlanLedger, CanaryBook, CauseBook, Outbox
{}

extension PostgresCompany: CompanyDatabase {}

extension PostgresSchema: CompanySchema {}

extension PostgresBooks: BooksServer {
    func reading<Value>(_ body: (any BooksReading) throws -> Value) throws -> Value {
        try reading { (reading: PostgresBooksReading) in try body(reading) }
    }
}

extension PostgresBooksReading: BooksReading {}

extension SQLiteRunRecord: RunRecord {}

extension AppStoreServerClient: AppStore {}
