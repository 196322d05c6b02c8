/** Checks of arguments that the type checker cannot make for JavaScript callers. Each error names the argument and the fix. */
import { badArgument } from "./error.ts";

export function checkObject(value: unknown, field: string, hint = "must be an object"): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badArgument(field, `${hint}, not ${nameOf(value)}`);
}

export function checkArray(value: unknown, field: string, hint = "must be an array"): void {
  if (!Array.isArray(value)) throw badArgument(field, `${hint}, not ${nameOf(value)}`);
}

export function checkString(value: unknown, field: string, hint = "must be a string"): asserts value is string {
  if (typeof value !== "string") throw badArgument(field, `${hint}, not ${nameOf(value)}`);
}

/** A function or undefined. */
export function checkFunction(value: unknown, field: string): void {
  if (value !== undefined && typeof value !== "function")
    throw badArgument(field, `must be a function, not ${nameOf(value)}`);
}

/** A number of at least 0, Infinity included, or undefined. */
export function checkNumber(value: unknown, field: string): void {
  if (value !== undefined && !(typeof value === "number" && value >= 0))
    throw badArgument(field, `must be a number of at least 0, not ${nameOf(value)}`);
}

export function checkSignal(value: unknown): void {
  if (value === undefined) return;
  if (typeof (value as { addEventListener?: unknown } | null)?.addEventListener !== "function")
    throw badArgument("signal", `must be an AbortSignal, such as controller.signal, not ${nameOf(value)}`);
}

/** Describes a value without its content, which may be secret or long. */
export function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return `a ${typeof value}`;
  const name = value.constructor?.name;
  return name && name !== "Object" ? `a ${name}` : "an object";
}
