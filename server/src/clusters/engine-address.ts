/**
 * Checks the addresses of a cluster's engine. Literal addresses are checked when the cluster is stored. A name can
 * change its address later, so it is resolved and checked again before each use (resolved-hosts.ts).
 */
import { invalid, type Rule } from "../lib/fault.ts";
import { hostRefusal } from "../lib/network-policy.ts";

const MASTER = /^spark:\/\/([^/\s?#]+)$/;
const CONNECT = /^sc:\/\/([^/\s?#;]+)\/?(;use_ssl=(true|false))?$/;

/** One master, or several of one cluster separated by commas, as in Spark's master URLs. */
export function checkMasterUrl(text: string, allowedNetworks: readonly string[]): string {
  const authorities = MASTER.exec(text)?.[1]?.split(",") ?? [];
  if (authorities.length === 0) throw invalid("engine.master_url", "must be of the form spark://host:port");
  for (const authority of authorities) checkHost("engine.master_url", authority, allowedNetworks);
  return text;
}

export function checkConnectUrl(text: string, allowedNetworks: readonly string[]): string {
  const authority = CONNECT.exec(text)?.[1];
  if (authority === undefined) {
    throw invalid("engine.url", "must be of the form sc://host:port, followed by /;use_ssl=true for TLS");
  }
  checkHost("engine.url", authority, allowedNetworks);
  return text;
}

export function checkApiServer(text: string, allowedNetworks: readonly string[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || !isPlain(url)) {
    throw invalid("engine.api_server", "must be an http:// or https:// address without user, query or fragment");
  }
  refuse("engine.api_server", hostRefusal(url.hostname, allowedNetworks));
  return url.href.replace(/\/+$/, "");
}

export function hostsOfMaster(masterUrl: string): string[] {
  return (MASTER.exec(masterUrl)?.[1] ?? "").split(",").map(hostOf);
}

/** The URL must have been checked. */
export function connectAddress(url: string): { host: string; port: number; tls: boolean } {
  const [, authority = "", , ssl = "false"] = CONNECT.exec(url) ?? [];
  const { hostname, port } = new URL(`http://${authority}`);
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port === "" ? "80" : port), tls: ssl === "true" };
}

export function hostOfConnect(url: string): string {
  return hostOf(CONNECT.exec(url)?.[1] ?? "");
}

/** Parsed as an http URL, because only that normalises unusual spellings of addresses (0x7f.1, 2130706433). */
function checkHost(field: string, authority: string, allowedNetworks: readonly string[]): void {
  const url = URL.canParse(`http://${authority}`) ? new URL(`http://${authority}`) : undefined;
  if (url === undefined || !isPlain(url) || !/:\d+$/.test(authority)) {
    throw invalid(field, "must name a host and a port, without user");
  }
  refuse(field, hostRefusal(url.hostname, allowedNetworks));
}

function hostOf(authority: string): string {
  return new URL(`http://${authority}`).hostname;
}

function isPlain(url: URL): boolean {
  return url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}

function refuse(field: string, rule: Rule | undefined): void {
  if (rule !== undefined) throw invalid(field, rule);
}
