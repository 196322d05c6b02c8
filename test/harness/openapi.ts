/** Validates a JSON value against a schema of docs/openapi.json: types, known and required fields, enums, times. */
import assert from "node:assert/strict";

export type Schema = {
  $ref?: string;
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
};

export function fitsSchema(
  value: unknown,
  schemaOrRef: Schema,
  schemas: Record<string, Schema>,
  where = "response",
): void {
  const schema = schemaOrRef.$ref ? schemas[schemaOrRef.$ref.split("/").at(-1)!]! : schemaOrRef;
  const inner = (item: unknown, of: Schema, name: string) => fitsSchema(item, of, schemas, `${where}${name}`);
  if (schema.type === undefined) return;
  if (schema.type === "array") {
    assert.ok(Array.isArray(value), `${where} is not a list`);
    for (const [i, item] of value.entries()) inner(item, schema.items!, `[${i}]`);
  } else if (schema.type === "object") {
    assert.ok(typeof value === "object" && value !== null, `${where} is not an object`);
    for (const name of schema.required ?? []) assert.ok(name in value, `${where} lacks ${name}`);
    for (const [name, item] of Object.entries(value)) {
      const known = schema.properties?.[name];
      if (known) inner(item, known, `.${name}`);
      else if (typeof schema.additionalProperties === "object") inner(item, schema.additionalProperties, `.${name}`);
      else assert.ok(schema.additionalProperties === true, `${where}.${name} is not in the schema`);
    }
  } else {
    assert.equal(typeof value, schema.type === "integer" ? "number" : schema.type, where);
    if (schema.type === "integer") assert.ok(Number.isInteger(value), where);
    if (schema.enum) assert.ok(schema.enum.includes(value), `${where}: ${String(value)}`);
    if (schema.format === "date-time")
      assert.ok(!Number.isNaN(Date.parse(String(value))), `${where}: ${String(value)}`);
  }
}
