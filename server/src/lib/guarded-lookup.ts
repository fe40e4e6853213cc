import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** Why an address must not be connected to; null if it may be. */
export type CheckAddress = (address: string) => string | null;

/**
 * Resolves names for a connection and checks every resolved address, so that a name that changes between check and use
 * gains nothing. A single refused address refuses the name. Literal addresses are not looked up: callers must check
 * them separately.
 */
export function guardedLookup(checkAddress: CheckAddress, refused: (refusal: string) => Error): LookupFunction {
  return (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, "", 0);
        return;
      }
      const refusal = firstRefusal(addresses, checkAddress);
      const [first] = addresses;
      if (refusal !== null) callback(refused(refusal), "", 0);
      else if (options.all === true) callback(null, addresses);
      else if (first === undefined) callback(new Error("the name has no address"), "", 0);
      else callback(null, first.address, first.family);
    });
  };
}

function firstRefusal(addresses: readonly LookupAddress[], checkAddress: CheckAddress): string | null {
  for (const { address } of addresses) {
    const refusal = checkAddress(address);
    if (refusal !== null) return refusal;
  }
  return null;
}
