/// The part of schema 1 that holds the customers' entitlements.
extension Schema {
    /// Adds a customer to the notes, under a number that no note had before.
    ///
    /// Deleted first: a service may write with OR REPLACE or OR IGNORE, which would then count for the
    /// insert here too.
    private static func note(_ customer: String) -> String {
        """
        DELETE FROM trueup_entitlement_notes WHERE customer_id = \(customer);
        INSERT INTO trueup_entitlement_notes (customer_id)
        SELECT \(customer) WHERE nullif(\(customer), '') IS NOT NULL;
        """
    }

    /// Adds the customer of the row of a table that a new row replaces.
    private static func noteOwner(in table: String, key: [String]) -> String {
        """
        DELETE FROM trueup_entitlement_notes WHERE customer_id IN (
            SELECT s.customer_id FROM \(table) AS s WHERE \(isReplaced(key)));
        INSERT INTO trueup_entitlement_notes (customer_id)
        SELECT s.customer_id FROM \(table) AS s
        WHERE \(isReplaced(key)) AND nullif(s.customer_id, '') IS NOT NULL;
        """
    }

    private static func isReplaced(_ key: [String]) -> String {
        key.map { "s.\($0) = NEW.\($0)" }.joined(separator: " AND ")
    }

    /// Before the entitlements are first filled in, nothing is noted: that goes through all customers.
    private static let isNoted = "EXISTS (SELECT 1 FROM trueup_entitlement_catalogue)"

    /// The triggers that note the customers of a table's rows.
    private static func triggers(
        _ prefix: String, on table: String, key: [String], read: [String]
    ) -> String {
        """
        CREATE TRIGGER \(prefix)_inserted AFTER INSERT ON \(table)
        WHEN nullif(NEW.customer_id, '') IS NOT NULL AND \(isNoted)
        BEGIN
        \(note("NEW.customer_id"))
        END;
        CREATE TRIGGER \(prefix)_replaced BEFORE INSERT ON \(table)
        WHEN EXISTS (SELECT 1 FROM \(table) AS s WHERE \(isReplaced(key))) AND \(isNoted)
        BEGIN
        \(noteOwner(in: table, key: key))
        END;
        CREATE TRIGGER \(prefix)_updated
        AFTER UPDATE OF \(read.joined(separator: ", ")) ON \(table)
        WHEN \(isNoted)
            AND (\(read.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")))
        BEGIN
        \(note("OLD.customer_id"))
        \(note("NEW.customer_id"))
        END;
        CREATE TRIGGER \(prefix)_deleted AFTER DELETE ON \(table)
        WHEN nullif(OLD.customer_id, '') IS NOT NULL AND \(isNoted)
        BEGIN
        \(note("OLD.customer_id"))
        END;
        """
    }

    /// The columns that entitlements follow from.
    private static let readOfSubscriptions = [
        "bundle_id", "environment", "original_transaction_id", "customer_id", "product_id",
        "status",
        "expires_date", "grace_period_expires_date", "auto_renew_status", "auto_renew_product_id",
        "revocation_date", "in_app_ownership_type", "signed_date",
    ]

    private static let readOfPurchases = [
        "bundle_id", "environment", "transaction_id", "original_transaction_id", "customer_id",
        "product_id", "type", "quantity", "purchase_date", "revocation_date",
        "revocation_percentage", "signed_date",
    ]

    /// Lets the next run make all entitlements again, because triggers were missing for a while.
    static let makeEntitlementsAgain = "DELETE FROM trueup_entitlement_catalogue;"

    static let entitlements = """
        -- Until when each customer may use what they bought, for services to read. A row stays after
        -- its end. `expires_date` is NULL for life. `changed_in` is the newest run when the row last
        -- changed.
        CREATE TABLE trueup_entitlements (
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            customer_id TEXT NOT NULL,
            entitlement TEXT NOT NULL,
            expires_date INTEGER,
            grace_period_expires_date INTEGER,
            original_transaction_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            will_renew INTEGER,
            signed_date INTEGER,
            ownership TEXT,
            changed_in INTEGER NOT NULL,
            PRIMARY KEY (bundle_id, environment, customer_id, entitlement)
        ) WITHOUT ROWID;
        CREATE INDEX trueup_entitlements_by_customer ON trueup_entitlements (customer_id);
        CREATE INDEX trueup_entitlements_by_change ON trueup_entitlements (changed_in);

        -- Every change of an entitlement, until the report that lists it is past its retention.
        -- `is_new`: there was no row before; otherwise `was_until` is when access had ended.
        CREATE TABLE trueup_entitlement_changes (
            change INTEGER PRIMARY KEY AUTOINCREMENT,
            bundle_id TEXT NOT NULL,
            environment TEXT NOT NULL,
            customer_id TEXT NOT NULL,
            entitlement TEXT NOT NULL,
            is_new INTEGER NOT NULL,
            was_until INTEGER,
            expires_date INTEGER,
            grace_period_expires_date INTEGER,
            original_transaction_id TEXT NOT NULL,
            product_id TEXT NOT NULL,
            will_renew INTEGER,
            signed_date INTEGER,
            ownership TEXT
        );
        CREATE INDEX trueup_entitlement_changes_by_customer
            ON trueup_entitlement_changes (customer_id);

        -- The changes that the report of each run lists: those behind `after`, up to `last`.
        CREATE TABLE trueup_run_entitlements (
            run_seq INTEGER PRIMARY KEY,
            after INTEGER NOT NULL,
            last INTEGER NOT NULL
        );

        -- The catalogue that the entitlements follow from; no row before they are first filled in.
        CREATE TABLE trueup_entitlement_catalogue (
            only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
            catalogue TEXT NOT NULL
        );

        -- Customers whose rows changed, by triggers, whoever wrote. A transaction of trueup settles
        -- its own before it commits; those of other writers wait for the next run or import.
        CREATE TABLE trueup_entitlement_notes (
            note INTEGER PRIMARY KEY AUTOINCREMENT,
            customer_id TEXT NOT NULL UNIQUE
        );
        CREATE INDEX subscriptions_by_customer ON subscriptions (customer_id)
            WHERE customer_id IS NOT NULL;
        \(triggers(
            "trueup_note", on: "subscriptions",
            key: ["bundle_id", "environment", "original_transaction_id"], read: readOfSubscriptions))
        \(triggers(
            "trueup_note_purchase", on: "purchases",
            key: ["bundle_id", "environment", "transaction_id"], read: readOfPurchases))
        """
}
