import { hash } from "node:crypto";
import { requestSigner } from "../../src/object-store/s3/sign-request.ts";
import { credentials, region } from "./seaweedfs-server.ts";

export async function createBucket(endpoint: string, name: string): Promise<void> {
  await configure(endpoint, `/${name}`, "");
}

/** Sends a PUT as the administrator. */
export async function configure(endpoint: string, path: string, query: string, body = ""): Promise<void> {
  const { host } = new URL(endpoint);
  const payloadHash = hash("sha256", body);
  const request = { method: "PUT", path, query, headers: { host }, payloadHash };
  const headers = requestSigner(credentials)(request, region, new Date());
  const { status } = await fetch(`${endpoint}${path}?${query}`, { method: "PUT", headers, body });
  if (status >= 300) throw new Error(`SeaweedFS refused PUT ${path}?${query}: ${status}`);
}
