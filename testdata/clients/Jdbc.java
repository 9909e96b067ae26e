// Reads a table through the Arrow Flight SQL JDBC driver, the way that DBeaver
// and BI tools do, on a stack that shares no code with the server.
//
// usage: java --add-opens=java.base/java.nio=ALL-UNNAMED -cp DRIVER.jar Jdbc.java HOST:PORT ROWS
import java.sql.*;
import java.util.*;

public class Jdbc {
  static void check(boolean ok, String what) {
    if (!ok) throw new AssertionError(what);
  }

  static List<String> column(ResultSet r, String name) throws SQLException {
    List<String> out = new ArrayList<>();
    while (r.next()) out.add(r.getString(name));
    r.close();
    return out;
  }

  static long one(Statement s, String sql) throws SQLException {
    try (ResultSet r = s.executeQuery(sql)) {
      check(r.next(), sql + ": no row");
      long n = r.getLong(1);
      check(!r.next(), sql + ": more than one row");
      return n;
    }
  }

  public static void main(String[] args) throws Exception {
    String url = "jdbc:arrow-flight-sql://" + args[0] + "/?useEncryption=false";
    long rows = Long.parseLong(args[1]);
    try (Connection c = DriverManager.getConnection(url)) {
      // What a tool walks before it shows a table.
      DatabaseMetaData md = c.getMetaData();
      check(md.getDatabaseProductName().equals("lake"), "product: " + md.getDatabaseProductName());
      check(md.getIdentifierQuoteString().equals("\""), "quote: " + md.getIdentifierQuoteString());
      check(!md.supportsTransactions(), "transactions");
      md.getSQLKeywords(); md.getNumericFunctions(); md.getStringFunctions(); md.getTimeDateFunctions(); md.getSystemFunctions();
      md.getMaxStatementLength(); md.getMaxColumnNameLength(); md.supportsSubqueriesInExists(); md.supportsFullOuterJoins(); md.nullsAreSortedAtEnd();
      check(column(md.getCatalogs(), "TABLE_CAT").equals(List.of("lake")), "catalogs");
      check(column(md.getSchemas(), "TABLE_SCHEM").contains("demo"), "schemas");
      check(column(md.getTableTypes(), "TABLE_TYPE").equals(List.of("TABLE")), "table types");
      check(column(md.getTables("lake", "demo", "fl%", new String[] {"TABLE"}), "TABLE_NAME").equals(List.of("flights")), "tables");
      check(column(md.getTables(null, null, "no\\_such", null), "TABLE_NAME").isEmpty(), "tables by an escaped pattern");
      check(column(md.getColumns("lake", "demo", "flights", "%"), "COLUMN_NAME").equals(List.of("date", "delay", "distance", "origin", "destination")), "columns");
      check(column(md.getColumns("lake", "demo", "flights", "d%"), "TYPE_NAME").size() == 4, "columns by a pattern");
      check(column(md.getPrimaryKeys("lake", "demo", "flights"), "COLUMN_NAME").isEmpty(), "primary keys");
      check(column(md.getImportedKeys("lake", "demo", "flights"), "PKTABLE_NAME").isEmpty(), "imported keys");

      try (Statement s = c.createStatement()) {
        check(one(s, "SELECT count(*) FROM demo.flights") == rows, "count");
        try (ResultSet r = s.executeQuery("SELECT * FROM demo.flights ORDER BY ALL LIMIT 1000")) {
          ResultSetMetaData m = r.getMetaData();
          check(m.getColumnCount() == 5 && m.getColumnName(2).equals("delay") && m.getColumnType(2) == Types.BIGINT, "metadata of a result");
          int n = 0;
          while (r.next()) {
            check(r.getTimestamp(1) != null && r.getObject(2) != null && r.getString(4).length() == 3, "row " + n);
            n++;
          }
          check(n == 1000, n + " rows");
        }
        try (ResultSet r = s.executeQuery("SELECT NULL::BIGINT AS a, 'x' AS b, DATE '2026-01-02' AS c, 1.50::DECIMAL(5,2) AS d, true AS e, 2.5::DOUBLE AS f")) {
          check(r.next() && r.getLong("a") == 0 && r.wasNull() && r.getString("b").equals("x"), "null and text");
          check(r.getDate("c").toLocalDate().toString().equals("2026-01-02") && r.getBigDecimal("d").toString().equals("1.50"), "date and decimal");
          check(r.getBoolean("e") && r.getDouble("f") == 2.5, "boolean and double");
        }
        try (ResultSet r = s.executeQuery("SELECT delay FROM demo.flights WHERE false")) {
          // The driver lists the columns of an empty result twice, whatever the server sends.
          check(!r.next() && r.getMetaData().getColumnName(1).equals("delay"), "an empty result");
        }
        // A statement that fails leaves the connection usable.
        for (String bad : List.of("SELECT nope FROM demo.flights", "SELECT 1 FROM demo.nothing", "SELEC 1", "DELETE FROM demo.flights")) {
          try (ResultSet r = s.executeQuery(bad)) {
            throw new AssertionError(bad + " was accepted");
          } catch (SQLException e) {
            check(!e.getMessage().contains("/run/") && !e.getMessage().contains("/in/"), "a path in: " + e.getMessage());
          }
        }
        check(one(s, "SELECT 1") == 1, "after failures");
      }

      // Two statements on one connection, read in turn.
      try (Statement a = c.createStatement(); Statement b = c.createStatement();
          ResultSet x = a.executeQuery("SELECT delay FROM demo.flights LIMIT 5000"); ResultSet y = b.executeQuery("SELECT distance FROM demo.flights LIMIT 5000")) {
        int n = 0;
        while (x.next()) {
          check(y.next(), "the second result is short");
          n++;
        }
        check(n == 5000 && !y.next(), "two results in turn: " + n);
      }

      // Prepared statements leave nothing behind: many are no trouble.
      for (int i = 0; i < 200; i++) {
        try (PreparedStatement p = c.prepareStatement("SELECT " + i + " AS n"); ResultSet r = p.executeQuery()) {
          check(r.next() && r.getInt(1) == i, "prepared statement " + i);
        }
      }
      try (PreparedStatement p = c.prepareStatement("SELECT count(*) FROM demo.flights WHERE delay > ? AND origin = ?")) {
        check(p.getParameterMetaData().getParameterCount() == 2, "parameters");
        long sum = 0;
        for (String origin : List.of("ORD", "DFW", "O'Hare")) {
          p.setLong(1, 60);
          p.setString(2, origin);
          try (ResultSet r = p.executeQuery(); Statement s = c.createStatement()) {
            check(r.next(), "no answer for " + origin);
            check(r.getLong(1) == one(s, "SELECT count(*) FROM demo.flights WHERE delay > 60 AND origin = '" + origin.replace("'", "''") + "'"), origin);
            sum += r.getLong(1);
          }
        }
        check(sum > 0, "no flight was late");
      }
    }
    System.out.println("PASSED");
    System.exit(0); // the driver's threads would keep the process
  }
}
