/**
 * Decides by its name whether an option or property holds a credential: `encryptionKey`, `fs.s3a.secret.key`,
 * `fs.s3n.awsAccessKeyId`, `fs.azure.account.key.<account>`, `X-Amz-Signature`. A name that is wrongly taken for a
 * secret only means an unnecessary mask.
 */
const ANYWHERE = /secret|passw|passphrase|pwd|token|credential|signature|(?:access|account|api|encryption|private)key/;
const AT_THE_END = /key(?:id)?$/;
/** Shared access signatures of Azure. */
const AS_A_PART = /(?:^|[._-])(?:sas|sig)(?:[._-]|$)/;
/** Classes and files that provide credentials: `fs.s3a.aws.credentials.provider`. */
const PROVIDER = /provider(?:path)?$/;

export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  const joined = /[._-]/.test(lower) ? lower.replaceAll(/[._-]/g, "") : lower;
  if (PROVIDER.test(joined)) return false;
  return ANYWHERE.test(joined) || AT_THE_END.test(joined) || AS_A_PART.test(lower);
}
