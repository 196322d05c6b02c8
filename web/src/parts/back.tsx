/** The way from one thing back to the list that it stands in. */
import { Anchor } from "@mantine/core";
import { Link, type LinkProps } from "@tanstack/react-router";

export function Back({ to, children }: { to: LinkProps["to"]; children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm" w="fit-content">
      ← {children}
    </Anchor>
  );
}
