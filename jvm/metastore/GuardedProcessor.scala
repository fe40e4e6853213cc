package headgate.metastore

import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.Collections

import scala.jdk.CollectionConverters._

import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore.{set_ugi_args, set_ugi_result}
import org.apache.thrift.TProcessor
import org.apache.thrift.protocol.{TBinaryProtocol, TMessage, TMessageType, TProtocol}
import org.apache.thrift.transport.TTransportException

/**
 * Processes a connection of a client that has proven that it knows the secret (`SharedSecret`), or of a Spark that an
 * earlier version started. The latter must first call `set_ugi(user, groups)`, where one of the groups is the secret.
 */
final class GuardedProcessor(client: Newcomer, all: TProcessor, secret: Array[Byte]) extends TProcessor {
  private val longestWord = 4096L
  private val maxGroups = 64L

  override def process(in: TProtocol, out: TProtocol): Unit =
    if (client.isKnown) all.process(in, out) else greet(in, out)

  private def greet(in: TProtocol, out: TProtocol): Unit = {
    // Strict limits, so that an unauthenticated client cannot use much memory.
    val words = new TBinaryProtocol(in.getTransport, longestWord, maxGroups, true, true)
    val message = words.readMessageBegin()
    if (message.name != "set_ugi") refuse()
    val greeting = new set_ugi_args
    greeting.read(words)
    words.readMessageEnd()
    if (greeting.getGroup_names == null || !greeting.getGroup_names.asScala.exists(isSecret)) refuse()
    client.letIn()
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

  /** Closes the connection without an answer. */
  private def refuse(): Nothing = throw new TTransportException(TTransportException.END_OF_FILE)
}
