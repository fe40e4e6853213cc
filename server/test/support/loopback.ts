import { networkInterfaces } from "node:os";

export const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));

/** The loopback addresses that this machine has. */
export const loopbacks: readonly string[] = hasIpv6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"];

export const inUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host);
