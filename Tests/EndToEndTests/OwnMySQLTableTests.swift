#if MySQL
    import Foundation
    import TestSupport
    import Testing

    /// The rows in a table of the company's own in MariaDB, for a night of the built program.
    @Suite(
        .enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"),
        .timeLimit(.minutes(30)))
    struct `A table of the company's own in MySQL, for a night` {
        private func night(customers: Int) throws -> ServerNight {
            let night = try ServerNight(customers: customers, on: OwnMariaDB())
            try night.reset()
            return night
        }

        @Test func `is corrected, explained and put back by an undo`() throws {
            let place = try night(customers: 20)
            defer { place.server.stop() }
            let theirs = place.night.place
            // The version rises with each write.
            let all = """
                SELECT otid, account_id, product, apple_status, expires, auto_renew, last_transaction,
                    source, note, HEX(raw), score, seen_at FROM apple_subscriptions ORDER BY otid
                """
            let before = try place.server.sql(all)
            // Two tables have such an id; of the tables of the company it proposes one.
            let proposal = try theirs.run("init", "--from", place.server.url)
            #expect(proposal.status == 0, "\(proposal.errors)")
            #expect(proposal.output.contains("url: mysql://"), "\(proposal.output)")
            let doctor = try theirs.run("doctor")
            #expect(doctor.output.contains("MariaDB 10."), "\(doctor.output)")
            #expect(doctor.output.contains("understood:"), "\(doctor.output)")
            let check = try theirs.run("check", "nightly")
            try #require(check.status == 2, "\(check.errors)")
            // A look leaves nothing of ours there.
            #expect(try place.server.sql("SHOW TABLES") == "apple_subscriptions\norders\nrights")

            let run = try theirs.run("run", "nightly")
            #expect([0, 2].contains(run.status), "\(run.errors)\n\(run.output)")
            let written = try theirs.reportLines("corrections.jsonl").filter {
                $0["ledger_entry"] is Int
            }
            #expect(!written.isEmpty)
            #expect(
                try place.server.sql("SELECT count(*) FROM trueup_corrections")
                    == "\(written.count)")
            #expect(try place.server.sql(all) != before)
            #expect(try theirs.run("verify", "--database").status == 0)
            let id = try #require(written.first?["original_transaction_id"] as? String)
            #expect(try theirs.run("explain", id).status == 0)

            let identity = try #require(try theirs.summary()["run_id"] as? String)
            let undo = try theirs.run("undo", identity, "--execute")
            #expect([0, 2].contains(undo.status), "\(undo.errors)\n\(undo.output)")
            #expect(try place.server.sql(all) == before)
        }

        @Test func `keeps what a service wrote between the plan and its application`() throws {
            let place = try night(customers: 12)
            defer { place.server.stop() }
            let theirs = place.night.place
            try #require(theirs.run("check", "nightly").status == 2)
            let plan = try #require(
                try JSONSerialization.jsonObject(with: Data(theirs.report("plan.json").utf8))
                    as? [String: Any])
            let planned = try #require(plan["corrections"] as? [[String: Any]]).compactMap {
                item -> String? in
                item["action"] as? String == "update" && item["transaction_id"] as? String == nil
                    ? item["original_transaction_id"] as? String : nil
            }
            try #require(planned.count > 3)
            let touched = planned.prefix(2)
            for id in touched {
                try place.server.sql(
                    """
                    UPDATE apple_subscriptions SET product = 'of the service',
                        lock_version = lock_version + 1 WHERE otid = \(id)
                    """)
            }
            let applied = try theirs.run("apply", theirs.folder.url.path + "/reports/latest")
            #expect(applied.status == 6, "\(applied.output)\(applied.errors)")
            for id in touched {
                #expect(
                    try place.server.sql(
                        "SELECT product, lock_version FROM apple_subscriptions WHERE otid = \(id)")
                        == "of the service\t1")
            }
            let corrections = try #require(try theirs.summary()["corrections"] as? [String: Any])
            #expect(corrections["stale"] as? Int == touched.count, "\(corrections)")
            #expect(try theirs.run("verify", "--database").status == 0)
        }

        @Test func `loses no write of a service that writes all the time`() throws {
            let place = try night(customers: 30)
            defer { place.server.stop() }
            let running = try place.night.place.start("run", "nightly")
            var writes = 0
            while running.process.isRunning {
                // Of all rows, in the way of whatever is written: some of these wait, and some are in
                // a deadlock with a unit.
                let isDone =
                    (try? place.server.sql(
                        """
                        SET innodb_lock_wait_timeout = 1;
                        UPDATE apple_subscriptions SET lock_version = lock_version + 1, note = 'touched'
                        """)) != nil
                writes += isDone ? 1 : 0
            }
            let ended = running.wait()
            #expect([0, 2, 3, 75].contains(ended.status), "\(ended.errors)\n\(ended.output)")
            try place.server.waitForEndOfSessions()
            #expect(writes > 3)
            // Each write of either raised the version of its row by one.
            let isThere = try place.server.sql("SHOW TABLES LIKE 'trueup_corrections'") != ""
            let updates =
                isThere
                ? try place.server.sql(
                    """
                    SELECT count(*) FROM trueup_corrections
                    WHERE content LIKE '%"update"%' AND content LIKE '%"subscriptions"%'
                    """)
                : "0"
            let rows = try place.server.sql(
                "SELECT count(*) FROM apple_subscriptions WHERE source <> 'trueup'")
            let raised = try place.server.sql(
                "SELECT SUM(lock_version) FROM apple_subscriptions WHERE source <> 'trueup'")
            let expected =
                try writes * (#require(Int(rows))) + (#require(Int(updates)))
            #expect(Int(raised) == expected)
        }

        @Test func `a killed night is finished by the next one`() throws {
            let place = try night(customers: 6)
            defer { place.server.stop() }
            let origin = place.origin
            let steps = try DurableSteps()
            let whole = try origin.copy()
            defer { whole.remove() }
            let (count, result) = try steps.count(
                .sync, of: MappedNight.command, in: whole.folder)
            try #require([0, 2].contains(result.status), "\(result.errors)")
            let undisturbed = try place.state(of: whole)
            try #require(!undisturbed.ledgerThere.isEmpty && !undisturbed.entitlementsThere.isEmpty)
            #expect(!undisturbed.isAhead("undisturbed"))
            for step in Self.some(of: count) {
                let when = "killed at step \(step) of \(count)"
                try place.reset()
                let copy = try origin.copy()
                defer { copy.remove() }
                let killed = try steps.killed(at: step, MappedNight.command, in: copy.folder)
                #expect([137, result.status].contains(killed.status), "\(when): \(killed.errors)")
                let again = try copy.run(MappedNight.command)
                #expect([0, result.status].contains(again.status), "\(when): \(again.errors)")
                let differences = try place.state(of: copy).differences(from: undisturbed)
                #expect(differences.isEmpty, "\(when): \(differences)")
                let verified = try copy.run(["verify", "--database"])
                #expect(verified.status == 0, "\(when): \(verified.output)\(verified.errors)")
            }
        }

        /// Every durable step of the books, or each third of them.
        private static func some(of all: Int) -> [Int] {
            let isWhole = ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] != nil
            return Array(stride(from: 1, through: max(1, all), by: isWhole ? 1 : 3))
        }

        /// The server's key is a throw-away one, which the server's user must be able to read.
        @Test func `is read over TCP only from the server that its certificate names`() throws {
            let folder = try TemporaryFolder()
            let keys = "/tmp/trueup-tls-\(UUID().uuidString.prefix(8))"
            defer { try? FileManager.default.removeItem(atPath: keys) }
            let port = Int.random(in: 20_000..<30_000)
            let made = try Process.run(
                URL(fileURLWithPath: "/bin/bash"),
                arguments: [
                    "-ec",
                    """
                    mkdir '\(keys)' && cd '\(keys)'
                    exec 2>log
                    for name in own other; do
                        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
                            -keyout $name.key -out $name.pem -days 2 -subj "/CN=$name"
                    done
                    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout server.key \
                        -out server.csr -subj /CN=server
                    openssl x509 -req -in server.csr -CA own.pem -CAkey own.key -CAcreateserial -days 2 \
                        -out server.pem -extfile <(echo subjectAltName=DNS:localhost)
                    chmod 644 server.key
                    """,
                ])
            made.waitUntilExit()
            try #require(made.terminationStatus == 0)
            let server = try OwnMariaDB(
                options: "--skip-networking=0 --bind-address=127.0.0.1 --port=\(port)"
                    + " --ssl-cert=\(keys)/server.pem --ssl-key=\(keys)/server.key")
            defer { server.stop() }
            try server.sql(
                """
                CREATE TABLE subs (otid bigint PRIMARY KEY, status int, expires_at datetime);
                CREATE USER trueup@'127.0.0.1' IDENTIFIED BY 'two "words"' REQUIRE SSL;
                GRANT SELECT ON shop.* TO trueup@'127.0.0.1';
                """)
            func proposal(_ address: String, password: String = #"two "words""#) throws
                -> BuiltExecutable.Result
            {
                try BuiltExecutable("trueup").run(
                    ["init", "--from", "mysql://trueup@\(address)"], in: folder.url,
                    environment: ["MYSQL_PWD": password])
            }
            let own = "tls=verify-identity&ca=\(keys)/own.pem"
            let named = try proposal("localhost:\(port)/shop?\(own)")
            #expect(named.status == 0 && named.output.contains("otid"), "\(named.errors)")
            for (address, password, said) in [
                ("localhost:\(port)/shop?tls=verify-identity&ca=\(keys)/other.pem", nil, "`ca` in"),
                ("127.0.0.1:\(port)/shop?\(own)", nil, "TLS/SSL"),
                ("localhost:\(port)/shop?tls=verify-identity", nil, "TLS/SSL"),
                ("localhost:\(port)/shop?tls=off", nil, "1045"),
                ("localhost:\(port)/shop?\(own)", "two words", "1045"),
            ] as [(String, String?, String)] {
                let refused = try proposal(address, password: password ?? #"two "words""#)
                #expect(refused.status == 69, "\(address): \(refused.output)\(refused.errors)")
                #expect(refused.errors.contains(said), "\(address): \(refused.errors)")
                #expect(!refused.errors.contains("words"), "\(refused.errors)")
            }
        }

        /// The server's side is killed in the midst of the writes of a unit.
        @Test func `a server that is killed during the night is waited for`() throws {
            let place = try night(customers: 30)
            defer { place.server.stop() }
            let undisturbed = try place.undisturbed()
            for written in [1, 4, 9] {
                try place.reset()
                // It sleeps as soon as so many rows are written and not committed.
                try place.server.sql(
                    """
                    CREATE TRIGGER counted AFTER UPDATE ON apple_subscriptions FOR EACH ROW
                        SET @written = IFNULL(@written, 0) + 1,
                            @slow = IF(@written = \(written), SLEEP(5), 0);
                    """)
                let copy = try place.origin.copy()
                defer { copy.remove() }
                let running = try BuiltExecutable("trueup").start(
                    MappedNight.command, in: copy.folder)
                _ = try place.server.sessionAsleep()
                try place.server.stopAtOnce()
                try place.server.start()
                let ended = running.wait()
                let when = "killed at row \(written)"
                #expect([0, undisturbed.status].contains(ended.status), "\(when): \(ended.errors)")
                let differences = try place.state(of: copy).differences(from: undisturbed.state)
                #expect(differences.isEmpty, "\(when): \(differences)")
            }
        }
    }
#endif
