package headgate.metastore

import java.sql.{Connection, DatabaseMetaData}

import org.datanucleus.store.rdbms.adapter.PostgreSQLAdapter

/**
 * All transactions have the isolation that connections begin with. The question whether a connection is alive opens a
 * transaction on it, and PostgreSQL does not let the isolation be changed any more. That of making the schema would be
 * another one; a lock keeps others from that (`MetastoreDatabase`).
 */
class PostgresAdapter(metadata: DatabaseMetaData) extends PostgreSQLAdapter(metadata) {
  override def getTransactionIsolationForSchemaCreation: Int = Connection.TRANSACTION_READ_COMMITTED
}
