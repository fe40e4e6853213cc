package headgate.metastore

import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.Collections

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore.{set_ugi_args, set_ugi_result}
import org.apache.thrift.TProcessor
import org.apache.thrift.protocol.{TBinaryProtocol, TMessage, TMessageType, TProtocol}
import org.apache.thrift.transport.{TSocket, TTransportException}

/**
 * One connection. Spark's client opens with `set_ugi(user, groups)`: one of the groups has to be the secret, and nothing
 * else is understood before that. Spark gets the group from `hadoop.user.group.static.mapping.overrides`.
 */
final class GuardedProcessor(client: TSocket, all: TProcessor, secret: Array[Byte]) extends TProcessor {
  private val longestWord = 4096L
  private val mostGroups = 64L
  @volatile private var isKnown = false

  override def process(in: TProtocol, out: TProtocol): Unit =
    if (isKnown) all.process(in, out) else greet(in, out)

  def closeStranger(): Unit = if (!isKnown) client.close()

  private def greet(in: TProtocol, out: TProtocol): Unit = {
    // Strict: a stranger makes us hold no more than a few words.
    val words = new TBinaryProtocol(in.getTransport, longestWord, mostGroups, true, true)
    val message = words.readMessageBegin()
    if (message.name != "set_ugi") refuse()
    val greeting = new set_ugi_args
    greeting.read(words)
    words.readMessageEnd()
    if (greeting.getGroup_names == null || !greeting.getGroup_names.asScala.exists(isSecret)) refuse()
    isKnown = true
    answer(message.seqid, greeting.getUser_name, out)
  }

  private def answer(sequence: Int, user: String, out: TProtocol): Unit = {
    val result = new set_ugi_result
    result.setSuccess(Collections.singletonList(user))
    out.writeMessageBegin(new TMessage("set_ugi", TMessageType.REPLY, sequence))
    result.write(out)
    out.writeMessageEnd()
    out.getTransport.flush()
  }

  private def isSecret(word: String): Boolean =
    MessageDigest.isEqual(word.getBytes(StandardCharsets.UTF_8), secret)

  /** Ends the connection without a word. */
  private def refuse(): Nothing = throw new TTransportException(TTransportException.END_OF_FILE)
}
