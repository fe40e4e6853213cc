package headgate.metastore

import java.util.{Base64, Map => JavaMap}
import javax.security.auth.callback.{Callback, CallbackHandler, NameCallback, PasswordCallback, UnsupportedCallbackException}
import javax.security.sasl.{AuthorizeCallback, RealmCallback, Sasl}

import org.apache.hadoop.security.SaslRpcServer
import org.apache.thrift.transport.{TSaslServerTransport, TTransport, TTransportException, TTransportFactory}

/**
 * Authenticates clients by SASL DIGEST-MD5: each side proves that it knows the secret without revealing it. Spark's client
 * uses a delegation token, which `jvm/driver` creates from the secret.
 *
 * Sparks that an earlier version of Headgate started may still run. They send the secret instead, and `GuardedProcessor`
 * authenticates them.
 */
final class SharedSecret(secret: Array[Byte]) extends TTransportFactory {
  /** Hadoop's clients encode the password of a token in the same way. */
  private val password = Base64.getEncoder.encodeToString(secret).toCharArray
  private val properties = JavaMap.of(Sasl.QOP, "auth", Sasl.SERVER_AUTH, "true")

  /** Called for both directions. Returns when both sides have proven it, or when the client starts without SASL. */
  override def getTransport(client: TTransport): TTransport = client match {
    case newcomer: Newcomer => newcomer.opened(if (newcomer.beginsWithSasl) proven(newcomer) else newcomer)
    case _ => throw new TTransportException("the connection was not accepted by this server")
  }

  private def proven(newcomer: Newcomer): TTransport = {
    val realm = SaslRpcServer.SASL_DEFAULT_REALM
    val transport = new TSaslServerTransport("DIGEST-MD5", null, realm, properties, new Answers, newcomer)
    transport.open()
    newcomer.letIn()
    transport
  }

  private final class Answers extends CallbackHandler {
    override def handle(callbacks: Array[Callback]): Unit = callbacks.foreach {
      case _: NameCallback => ()
      case realm: RealmCallback => realm.setText(realm.getDefaultText)
      case asked: PasswordCallback => asked.setPassword(password.clone())
      case asked: AuthorizeCallback =>
        asked.setAuthorized(asked.getAuthenticationID == asked.getAuthorizationID)
        if (asked.isAuthorized) asked.setAuthorizedID(asked.getAuthorizationID)
      case other => throw new UnsupportedCallbackException(other)
    }
  }
}
