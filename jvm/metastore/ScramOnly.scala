package headgate.metastore

import java.util.Properties

import org.postgresql.PGProperty
import org.postgresql.plugin.{AuthenticationPlugin, AuthenticationRequestType}
import org.postgresql.util.{PSQLException, PSQLState}

/**
 * Allows only SCRAM, in which both sides prove that they know the password. Otherwise a program that has taken the port of
 * a stopped PostgreSQL could request the password itself. The URL names this class if there is no TLS.
 *
 * The driver calls this class only if the server requests a password. `requireAuth` in the URL rejects a server that
 * requests none.
 */
final class ScramOnly(properties: Properties) extends AuthenticationPlugin {
  override def getPassword(kind: AuthenticationRequestType): Array[Char] =
    if (kind == AuthenticationRequestType.SASL) PGProperty.PASSWORD.getOrDefault(properties).toCharArray
    else
      throw new PSQLException(
        s"the server requests the password by $kind; without TLS only SCRAM is allowed",
        PSQLState.INVALID_AUTHORIZATION_SPECIFICATION)
}
