/** Renders buttons that change data, except for viewers. The server enforces the permission in any case. */
import type { ReactNode } from "react";
import { useMayWrite } from "../api/session.ts";

export function WriteOnly({ children }: { children: ReactNode }) {
  return useMayWrite() ? children : null;
}
