package headgate.training

import java.net.ServerSocket
import java.util.UUID

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.connect.proto
import org.apache.spark.sql.connect.service.SparkConnectService
import org.sparkproject.connect.grpc.netty.NettyChannelBuilder

/** Runs a Spark Connect server in this JVM and sends it requests over the network as clients do. */
object ConnectTraining {
  def run(context: SparkContext): Unit = {
    val port = freePort()
    SparkEnv.get.conf.set("spark.connect.grpc.binding.address", "127.0.0.1")
    SparkEnv.get.conf.set("spark.connect.grpc.binding.port", port.toString)
    SparkConnectService.start(context)
    val channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build()
    try {
      val stub = proto.SparkConnectServiceGrpc.newBlockingStub(channel)
      val session = UUID.randomUUID().toString
      for (sql <- Seq("select 1 as a", "show tables", "select id % 3 as k, count(*) from range(100) group by 1")) {
        stub.executePlan(request(session, sql)).forEachRemaining(_ => ())
      }
    } finally {
      channel.shutdownNow()
      SparkConnectService.stop()
    }
  }

  private def freePort(): Int = {
    val socket = new ServerSocket(0)
    try socket.getLocalPort
    finally socket.close()
  }

  private def request(session: String, sql: String): proto.ExecutePlanRequest = {
    val relation = proto.Relation.newBuilder().setSql(proto.SQL.newBuilder().setQuery(sql))
    proto.ExecutePlanRequest
      .newBuilder()
      .setSessionId(session)
      .setUserContext(proto.UserContext.newBuilder().setUserId("training"))
      .setPlan(proto.Plan.newBuilder().setRoot(relation))
      .build()
  }
}
