/** The token of a link from an email. It is in the URL's fragment, so that no server logs it, and is removed from the URL immediately. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { auth, type LinkKind } from "../api/auth.ts";

export type OpenedLink = {
  token: string | undefined;
  /** Counts the links that were opened on this page. */
  count: number;
};

export function useOpenedLink(): OpenedLink {
  const [link, setLink] = useState<OpenedLink>(() => ({ token: tokenInAddress(), count: 1 }));
  useEffect(() => {
    // Opening a link in a tab that already shows this page changes only the fragment.
    const readToken = () => {
      const token = tokenInAddress();
      if (token) setLink(({ count }) => ({ token, count: count + 1 }));
    };
    addEventListener("hashchange", readToken);
    return () => removeEventListener("hashchange", readToken);
  }, []);
  useEffect(() => {
    if (link.token) history.replaceState(history.state, "", location.pathname);
  }, [link]);
  return link;
}

function tokenInAddress(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
}

/** Fetches what a link is for: sign-up, invitation or password reset. */
export function useLink({ token, count }: OpenedLink) {
  return useQuery({
    // The count represents the token, which is not part of the key, because keys stay in the cache.
    queryKey: ["auth", "link", location.pathname, count],
    queryFn: () => auth<LinkKind>("link", { token }),
    enabled: token !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
}
