/** Labels and descriptions of the permissions of a key. */
import { KeyPermission } from "../../../src/gen/v1/options_pb.ts";

export interface Permission {
  value: KeyPermission;
  name: string;
  color: string;
  meaning: string;
}

/** From the lowest to the highest. The first is the default for a new key. */
export const permissions: readonly [Permission, ...Permission[]] = [
  {
    value: KeyPermission.SEND,
    name: "Send",
    color: "teal",
    meaning: "Can send email and read the status of emails that it sent. For programs that send.",
  },
  {
    value: KeyPermission.READ,
    name: "Read",
    color: "blue",
    meaning: "Can read everything except message content. For monitoring and reports.",
  },
  {
    value: KeyPermission.FULL,
    name: "Full",
    color: "orange",
    meaning: "Full access to this workspace, including message content and keys. For administration.",
  },
];

/** A newer server may return permissions that this page does not know. */
export function permissionOf(value: KeyPermission): Permission {
  return (
    permissions.find((one) => one.value === value) ?? { value, name: `Permission ${value}`, color: "gray", meaning: "" }
  );
}
