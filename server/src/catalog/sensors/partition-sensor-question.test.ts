import { expect, test } from "vitest";
import { partitionSensorQuestion } from "./partition-sensor-question.ts";

const hour = { name: "hour", type: "int", comment: null };

test("an invalid value is named by its index in the request, duplicates included", () => {
  const question = partitionSensorQuestion("s", "t", [{ column: "hour", values: [7, "7", 7, "x"] }]);
  expect(question.size).toBe(2);
  expect(question.combinations([hour])).toMatchObject({
    publicMessage: "columns[0].values[3] must be a whole number: hour is of type int",
  });
});

test("equal values count once, however they are written", () => {
  const question = partitionSensorQuestion("S", "T", [{ column: "Hour", values: ["07", 8, "8"] }]);
  expect(question.combinations([hour])).toEqual([[["7", "07"]], [["8"]]]);
  expect(question.key).toBe(partitionSensorQuestion("s", "t", [{ column: "hour", values: [8, "07"] }]).key);
});
