import type { LinkProps } from "@tanstack/react-router";
import { AnchorLink } from "./links.tsx";

export function Back({ to, children }: { to: LinkProps["to"]; children: string }) {
  return (
    <AnchorLink to={to} size="sm" w="fit-content">
      ← {children}
    </AnchorLink>
  );
}
