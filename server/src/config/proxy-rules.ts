import { Buffer } from "node:buffer";
import { includesLoopback } from "../lib/networks.ts";

export interface ProxySettings {
  readonly trustedProxies: readonly string[];
  readonly proxySocket: string | null;
  readonly proxySecretFile: string | null;
}

/** Systems allow 104 or 108 bytes, with a terminating zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/** What the settings of proxies require of each other. Returns the problems. */
export function proxyProblems({ trustedProxies, proxySocket, proxySecretFile }: ProxySettings): string[] {
  const problems: string[] = [];
  const local = trustedProxies.filter(includesLoopback).join(", ");
  if (local !== "" && proxySocket === null && proxySecretFile === null) {
    problems.push(
      `HEADGATE_TRUSTED_PROXIES must not include loopback addresses (${local}) unless the proxy proves itself, because every program on ` +
        "this machine can connect from there. Either set HEADGATE_PROXY_SOCKET and let the proxy connect to that Unix " +
        "socket, or set HEADGATE_PROXY_SECRET_FILE and let the proxy send the file's content in the header " +
        "X-Headgate-Proxy (docs/operations/network.md)",
    );
  }
  if (proxySecretFile !== null && trustedProxies.length === 0) {
    problems.push(
      "HEADGATE_PROXY_SECRET_FILE has no effect without HEADGATE_TRUSTED_PROXIES: list the addresses of the proxies, " +
        "such as 127.0.0.1,::1",
    );
  }
  if (proxySocket !== null && Buffer.byteLength(proxySocket) > MAX_SOCKET_PATH_BYTES) {
    problems.push(`HEADGATE_PROXY_SOCKET must be a path of at most ${MAX_SOCKET_PATH_BYTES} bytes, not ${proxySocket}`);
  }
  return problems;
}
