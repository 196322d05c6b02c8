/** A plain link to a page of the dashboard, for cards and bars that have their own styles. */
import { createLink } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, Ref } from "react";

export const CardLink = createLink(
  (props: AnchorHTMLAttributes<HTMLAnchorElement> & { ref?: Ref<HTMLAnchorElement> }) => <a {...props} />,
);
