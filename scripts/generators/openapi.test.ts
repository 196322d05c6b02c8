// Checks docs/openapi.json against the rules of OpenAPI and against the contract.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { fitsSchema, type Schema } from "../../test/harness/openapi.ts";
import { readContract } from "./descriptors.ts";
import { generate } from "./openapi.ts";

type Operation = {
  operationId: string;
  requestBody: { content: Record<string, { schema: Schema; examples: { example: { value: unknown } } }> };
  responses: Record<string, { content: Record<string, { schema: Schema }> }>;
};
const text = (await generate()).get("docs/openapi.json")!;
const file = JSON.parse(text) as {
  openapi: string;
  paths: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema> };
};
const contract = await readContract();

test("an OpenAPI validator accepts the file as 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(text));
  assert.ok(valid, JSON.stringify(errors, null, 2));
  assert.equal(validator.version, "3.1");
});

test("every method appears once, with a unique operation id", () => {
  const methods = contract.services.flatMap((service) => service.methods);
  assert.deepEqual(
    Object.keys(file.paths),
    methods.map((method) => `/${method.parent.typeName}/${method.name}`),
  );
  const names = Object.values(file.paths).map(({ post }) => post.operationId);
  assert.equal(new Set(names).size, methods.length);
});

test("every reference resolves, and every schema is used", () => {
  const references = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]!));
  for (const name of references)
    assert.ok(file.components.schemas[name], `#/components/schemas/${name} does not resolve`);
  for (const name of Object.keys(file.components.schemas)) assert.ok(references.has(name), `${name} is not used`);
});

test("the example of each method matches its schema", () => {
  for (const { post } of Object.values(file.paths)) {
    const { schema, examples } = post.requestBody.content["application/json"]!;
    fitsSchema(examples.example.value, schema, file.components.schemas, post.operationId);
  }
});
