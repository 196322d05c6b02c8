/** /sign-in for a person who is signed in already, for example after a sign-in at a provider failed in another tab. All others see the
 * sign-in form at this address. */

import { Alert } from "@mantine/core";
import { Navigate } from "@tanstack/react-router";
import { AnchorLink } from "../parts/links.tsx";
import { AuthCard } from "./auth-card.tsx";
import { useProviderResult } from "./providers.tsx";

export function SignInPage() {
  const { sentence } = useProviderResult();
  if (!sentence) return <Navigate to="/" />;
  return (
    <AuthCard title="Sign-in failed" intro="You are still signed in.">
      <Alert color="red" role="alert" className="wrap">
        {sentence}
      </Alert>
      <AnchorLink to="/" size="sm" w="fit-content">
        Go to the dashboard
      </AnchorLink>
    </AuthCard>
  );
}
