/** Acts that change something: not offered to those who may only look. The server refuses them in any case. */
import type { ReactNode } from "react";
import { useMayWrite } from "../api/session.ts";

export function WriteOnly({ children }: { children: ReactNode }) {
  return useMayWrite() ? children : null;
}
