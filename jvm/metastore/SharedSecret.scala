package headgate.metastore

import java.util.{Base64, Map => JavaMap}
import javax.security.auth.callback.{Callback, CallbackHandler, NameCallback, PasswordCallback, UnsupportedCallbackException}
import javax.security.sasl.{AuthorizeCallback, RealmCallback, Sasl}

import org.apache.hadoop.security.SaslRpcServer
import org.apache.thrift.transport.{TSaslServerTransport, TTransport, TTransportException, TTransportFactory}

/**
 * Lets in who knows the secret, by SASL's DIGEST-MD5: each side proves to the other that it knows it, and neither shows
 * it. Spark's client does so by a delegation token, which `jvm/driver` makes of the secret.
 *
 * Sparks that an earlier version of Headgate has started may still run. They show the secret instead, and
 * `GuardedProcessor` lets them in.
 */
final class SharedSecret(secret: Array[Byte]) extends TTransportFactory {
  /** As Hadoop's clients write the password of a token. */
  private val password = Base64.getEncoder.encodeToString(secret).toCharArray
  private val properties = JavaMap.of(Sasl.QOP, "auth", Sasl.SERVER_AUTH, "true")

  /** Asked for both directions. Returns once both sides have proven it, or the client begins without. */
  override def getTransport(client: TTransport): TTransport = client match {
    case newcomer: Newcomer => newcomer.opened(if (newcomer.beginsWithSasl) proven(newcomer) else newcomer)
    case _ => throw new TTransportException("not a connection that was accepted here")
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
