package headgate.storage

import org.apache.hadoop.fs.s3a.CredentialInitializationException
import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsCredentialsProvider}

/**
 * The last provider of s3a for an account without keys. A program without keys of its own gets this error; copies report
 * the same text.
 */
final class NoAccountKeys extends AwsCredentialsProvider {
  override def resolveCredentials(): AwsCredentials =
    throw new CredentialInitializationException(
      "the account has no keys for S3: set storage_access_key and storage_secret_key of the account"
    )
}
