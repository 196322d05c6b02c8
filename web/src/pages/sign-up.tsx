/** Makes an account, in whichever way this server lets people in. */
import { Alert, Text } from "@mantine/core";
import { Navigate } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Loading } from "../parts/states.tsx";
import { AuthCard } from "../people/auth-card.tsx";
import { useLink, useLinkToken } from "../people/link-token.ts";
import { SignUpByMail, SignUpForm } from "../people/sign-up-form.tsx";

export function SignUpPage() {
  const token = useLinkToken();
  const { caller } = useSession();
  if (caller?.kind === "person") return <Navigate to="/" />;
  return token ? <WithLink token={token} /> : <WithoutLink />;
}

function WithLink({ token }: { token: string }) {
  const link = useLink(token);
  return (
    <AuthCard title="Create your account">
      {link.isPending ? (
        <Loading what="the link" rows={3} />
      ) : link.data ? (
        <SignUpForm token={token} email={link.data.email} />
      ) : (
        <>
          <Alert color="red" title="This link does not work" role="alert">
            It may have been used already, or its time is over. Ask for a new one.
          </Alert>
          <ToSignIn />
        </>
      )}
    </AuthCard>
  );
}

function WithoutLink() {
  const { state } = useSession();
  const signUp = state.data?.signUp;
  const title = signUp?.first ? "Create the first account" : "Create your account";
  const intro = signUp?.first ? "The first person who signs up owns the first workspace." : undefined;
  return (
    <AuthCard title={title} intro={intro}>
      {state.isPending && <Loading what="how to sign up" rows={3} />}
      {state.error && <ProblemAlert error={state.error} onRetry={() => void state.refetch()} />}
      {signUp?.by === "form" && <SignUpForm />}
      {signUp?.by === "mail" && <SignUpByMail />}
      {(signUp?.by === "link" || signUp?.by === "closed") && <Alert color="blue">{signUp.message}</Alert>}
      <ToSignIn />
    </AuthCard>
  );
}

function ToSignIn() {
  return (
    <Text size="sm">
      You have an account? <AnchorLink to="/">Sign in</AnchorLink>
    </Text>
  );
}
