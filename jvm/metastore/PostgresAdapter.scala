package headgate.metastore

import java.sql.{Connection, DatabaseMetaData}

import org.datanucleus.store.rdbms.adapter.PostgreSQLAdapter

/**
 * Creates the schema with the default isolation level. The pool's liveness query opens a transaction, after which
 * PostgreSQL does not allow a change of the isolation level. A lock replaces the stricter level (`MetastoreDatabase`).
 */
class PostgresAdapter(metadata: DatabaseMetaData) extends PostgreSQLAdapter(metadata) {
  override def getTransactionIsolationForSchemaCreation: Int = Connection.TRANSACTION_READ_COMMITTED
}
