package headgate.driver

import com.sun.security.auth.module.UnixSystem
import org.apache.hadoop.security.UserGroupInformation

/**
 * Who this JVM is for Hadoop and Spark. Where nothing isolates programs, the uid of an account has no line in the system's
 * passwd: then Java knows no name, and its own login fails (`invalid null input: name`).
 */
object ProcessUser {
  private val system = new UnixSystem
  private val givenName = Option(system.getUsername)

  val name: String =
    givenName.orElse(sys.env.get("HADOOP_USER_NAME")).orElse(sys.env.get("USER")).getOrElse(s"user${system.getUid}")

  /** Before anything of Hadoop asks who it is. */
  def logIn(): Unit =
    if (givenName.isEmpty) {
      System.setProperty("user.name", name)
      UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser(name))
    }
}
