package headgate.metastore

import java.util.Properties

import org.postgresql.PGProperty
import org.postgresql.plugin.{AuthenticationPlugin, AuthenticationRequestType}
import org.postgresql.util.{PSQLException, PSQLState}

/**
 * Logs in by SCRAM alone, in which both sides prove that they know the password. A program that has taken the port of a
 * stopped PostgreSQL could otherwise ask for the password itself. The URL names this class where there is no TLS.
 *
 * The driver asks this class only when the server wants a password. `requireAuth` in the URL refuses a server that wants
 * none.
 */
final class ScramOnly(properties: Properties) extends AuthenticationPlugin {
  override def getPassword(kind: AuthenticationRequestType): Array[Char] =
    if (kind == AuthenticationRequestType.SASL) PGProperty.PASSWORD.getOrDefault(properties).toCharArray
    else
      throw new PSQLException(
        s"the server asks for the password by $kind, and without TLS it is shown by SCRAM alone",
        PSQLState.INVALID_AUTHORIZATION_SPECIFICATION)
}
