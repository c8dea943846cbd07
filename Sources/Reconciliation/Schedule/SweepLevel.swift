/// How many rows to sweep tonight, so that every row is asked before its deadline and no later
/// night has to ask more.
///
/// Of the rows that are due within *h* days, an even spread asks one part in *h* each night. The
/// largest of these parts, rounded up, is the smallest number that is enough on all nights when
/// the earliest deadline is always asked first. With no new rows it does not grow from night to
/// night.
///
/// - Parameter rowsByDaysLeft: The number of rows by whole days until their deadline. Overdue rows
///   count as zero days (as does any negative number), and are due tonight like those with one day
///   left. Numbers of rows below zero count as none.
/// - Returns: The number of rows for tonight; `Int.max` where their sum exceeds it.
package func sweepLevel(rowsByDaysLeft: [Int: Int]) -> Int {
    var due = 0
    var level = 0
    for (daysLeft, rows) in rowsByDaysLeft.sorted(by: { $0.key < $1.key }) where rows > 0 {
        let (sum, overflow) = due.addingReportingOverflow(rows)
        due = overflow ? .max : sum
        let nights = max(1, daysLeft)
        let (whole, rest) = due.quotientAndRemainder(dividingBy: nights)
        // One night leaves no rest, so adding one cannot overflow.
        level = max(level, rest == 0 ? whole : whole + 1)
    }
    return level
}
