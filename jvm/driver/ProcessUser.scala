package headgate.driver

import com.sun.security.auth.module.UnixSystem
import org.apache.hadoop.security.UserGroupInformation

/**
 * The user that this JVM runs as, for Hadoop and Spark. Without isolation, the uid of an account has no entry in the
 * system's passwd. Java then knows no user name, and its own login fails (`invalid null input: name`).
 */
object ProcessUser {
  private val system = new UnixSystem
  private val givenName = Option(system.getUsername)

  val name: String =
    givenName.orElse(sys.env.get("HADOOP_USER_NAME")).orElse(sys.env.get("USER")).getOrElse(s"user${system.getUid}")

  /** Must be called before any Hadoop class queries the user. */
  def logIn(): Unit =
    if (givenName.isEmpty) {
      System.setProperty("user.name", name)
      UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser(name))
    }
}
