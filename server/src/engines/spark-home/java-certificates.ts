import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Where systems keep the certificates that all programs trust, in PEM format. */
const systemBundles = [
  "/etc/ssl/certs/ca-certificates.crt", // Debian, Arch
  "/etc/pki/tls/certs/ca-bundle.crt", // Fedora
  "/etc/ssl/ca-bundle.pem", // SUSE
  "/etc/ssl/cert.pem", // macOS
];

/**
 * Makes a downloaded Java trust the certificates that the system trusts, like a Java from the distribution. Otherwise
 * it could not connect to servers of an organisation with its own certificate authority. The list is rewritten whenever
 * the system's list has changed. If the cache is read-only, Java keeps its own list.
 */
export async function trustSystemCertificates(
  javaHome: string,
  warn: (message: string) => void,
  bundles = systemBundles,
): Promise<void> {
  const bundle = bundles.find((path) => existsSync(path));
  if (bundle === undefined) return;
  try {
    const certificates = readCertificates(await readFile(bundle, "utf8"));
    if (certificates.length > 0) await replace(join(javaHome, "lib/security/cacerts"), renderTrustStore(certificates));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    warn(`Java does not trust the certificates in ${bundle}: ${reason}`);
  }
}

/** Writes a temporary file first, because several processes may share a cache and start at the same time. */
async function replace(path: string, content: Buffer): Promise<void> {
  if ((await readFile(path)).equals(content)) return;
  const unfinished = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(unfinished, content);
    await chmod(unfinished, 0o644); // programs of other users read it, whatever the umask is
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw error;
  }
}

function readCertificates(pem: string): Buffer[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return found.flatMap((text) => {
    try {
      return [new X509Certificate(text).raw];
    } catch {
      return []; // a malformed one would keep Java from reading the others
    }
  });
}

const magic = 0xfeedfeed;
const version = 2;
const trustedCertificate = 2;
/** The usual password of Java. The list is public; the password only protects its integrity. */
const password = "changeit";

/**
 * Writes Java's own format for a list of certificates (JKS), because keytool imports only one certificate in each run.
 */
export function renderTrustStore(certificates: readonly Buffer[]): Buffer {
  const int = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const text = (value: string): Buffer => Buffer.concat([int(value.length).subarray(2), Buffer.from(value)]);
  const noTime = Buffer.alloc(8);
  const entries = certificates.flatMap((certificate, index) => [
    int(trustedCertificate),
    text(`system-${index}`),
    noTime,
    text("X.509"),
    int(certificate.length),
    certificate,
  ]);
  const content = Buffer.concat([int(magic), int(version), int(certificates.length), ...entries]);
  const key = Buffer.from(password, "utf16le").swap16();
  const digest = createHash("sha1").update(key).update("Mighty Aphrodite").update(content).digest();
  return Buffer.concat([content, digest]);
}
