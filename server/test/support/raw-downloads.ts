import { DEFAULT_AGENT_LIMITS } from "../../src/engines/object-store/guarded-agent.ts";
import {
  Downloader,
  type DownloaderOptions,
  type DownloadRequest,
} from "../../src/engines/object-store/s3/raw-download.ts";
import { afterTest } from "./raw-server.ts";

/** A downloader that is closed after the test. */
export function downloaderWith(options: Partial<DownloaderOptions> = {}): Downloader {
  const downloader = new Downloader({ ...DEFAULT_AGENT_LIMITS, checkAddress: () => null, ...options });
  afterTest(() => downloader.close());
  return downloader;
}

export function downloadRequest(origin: string, path = "/b/k"): DownloadRequest {
  return { origin, path, headers: { host: "h", "x-a": "1" } };
}

/** The body of the server's answer, which has at most 100 bytes. */
export async function downloadText(downloader: Downloader, origin: string): Promise<string> {
  return (await downloader.get(downloadRequest(origin), Buffer.alloc(100), undefined)).bytes.toString();
}
