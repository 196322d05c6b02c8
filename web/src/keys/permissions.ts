/** What a key may do, in the words of the dashboard. */
import { KeyPermission } from "../../../src/gen/v1/options_pb.ts";

export interface Permission {
  value: KeyPermission;
  name: string;
  color: string;
  meaning: string;
}

/** From the least to the most; the first is what a new key gets unless somebody chooses otherwise. */
export const permissions: readonly [Permission, ...Permission[]] = [
  {
    value: KeyPermission.SEND,
    name: "Send",
    color: "teal",
    meaning: "Sends email, and sees the status of what it sent. For the programs of yours that send.",
  },
  {
    value: KeyPermission.READ,
    name: "Read",
    color: "blue",
    meaning: "Reads everything but the content of messages. For monitoring and reports.",
  },
  {
    value: KeyPermission.FULL,
    name: "Full",
    color: "orange",
    meaning: "Everything in this workspace, message content and keys included. For administration.",
  },
];

/** A newer server may know permissions that this page does not. */
export function permissionOf(value: KeyPermission): Permission {
  return (
    permissions.find((one) => one.value === value) ?? { value, name: `Permission ${value}`, color: "gray", meaning: "" }
  );
}
