import type { ListedOperation } from "./listed-operation.ts";

/** Sorts operations in the order of `endpointIds`, and older versions of an operation after the newest. */
export function inReadingOrder(
  operations: readonly ListedOperation[],
  endpointIds: readonly string[],
): readonly ListedOperation[] {
  const placeOf = ({ operation: { operationId } }: ListedOperation): number => {
    const exact = endpointIds.indexOf(operationId);
    if (exact !== -1) return exact;
    return endpointIds.indexOf(operationId.replace(/_v\d+(_\d+)?$/, "")) + 0.5;
  };
  return operations.toSorted((one, other) => placeOf(one) - placeOf(other));
}
