/** The form to sign in: with a passkey, or with email address and password and, if the person has one, a second factor. Also the hook that
 * all forms for accounts use. */
import { Button, Divider, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { auth, type SecondFactorNeeded, type Session, setAuthState, useAuthState } from "../api/auth.ts";
import { askForPasskey, canUsePasskeys, offerPasskeys, withdrawOffer } from "../api/passkey.ts";
import { signInAs } from "../api/session.ts";
import { Form, formErrors, SecretField, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { PasskeyHint } from "./passkey-hint.tsx";
import { ProviderButtons, useSignInOptions } from "./providers.tsx";
import { SecondStep } from "./second-step.tsx";

/** `invitation` is the token of the invitation that the person is about to accept. */
export function SignInForm({ email: fixed, invitation }: { email?: string; invitation?: string }) {
  const { data } = useAuthState();
  const { byPassword, providers } = useSignInOptions();
  const hasPasskeys = data !== undefined && canUsePasskeys(data.passkeyOrigin);
  if (data?.secondFactor) return <SecondStep methods={data.secondFactor.methods} />;
  return (
    <Stack>
      {byPassword && (
        <>
          <PasswordForm fixed={fixed} />
          <AnchorLink to="/forgot-password" size="sm" w="fit-content">
            Forgot your password?
          </AnchorLink>
        </>
      )}
      {byPassword && (hasPasskeys || providers.length > 0) && <Divider label="or" />}
      <ProviderButtons invitation={invitation} hasDivider={false} />
      {hasPasskeys && <PasskeyButton />}
      <PasskeyHint origin={data?.passkeyOrigin} path={location.pathname} />
    </Stack>
  );
}

function PasswordForm({ fixed }: { fixed?: string }) {
  const [email, setEmail] = useState(fixed ?? "");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session | SecondFactorNeeded>("sign-in", (answer) => {
    if ("secondFactor" in answer) setAuthState((before) => ({ ...before, ...answer }));
    else signInAs(answer);
  });
  const submit = () => send({ email: email.trim(), password });
  return (
    <Form submitLabel="Sign in" isPending={isPending} error={error} onSubmit={submit} isWide>
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        readOnly={fixed !== undefined}
        // "webauthn": the browser offers passkeys here.
        autoComplete="username webauthn"
        isRequired
      />
      <SecretField
        label="Password"
        value={password}
        onChange={setPassword}
        error={fields.password}
        autoComplete="current-password"
        what="the password"
        isRequired
      />
    </Form>
  );
}

/** A challenge of the server is valid for 5 minutes. */
const offerMs = 4 * 60_000;

function PasskeyButton() {
  const [round, setRound] = useState(0);
  const signIn = useMutation({
    gcTime: 0,
    mutationFn: async (offered: unknown) =>
      await auth<Session>("passkey-sign-in", { credential: offered ?? (await askForPasskey("sign_in")) }),
    onSuccess: signInAs,
    // The button's own question has replaced the one of the address field.
    onError: () => setRound((before) => before + 1),
  });
  const { mutate } = signIn;
  useEffect(() => {
    let isShown = true;
    void offerPasskeys()
      .then((answer) => isShown && answer !== undefined && mutate(answer))
      .catch(() => {});
    const timer = setTimeout(() => setRound(round + 1), offerMs);
    return () => {
      isShown = false;
      clearTimeout(timer);
      void withdrawOffer();
    };
  }, [mutate, round]);
  return (
    <>
      {signIn.error && <ProblemAlert error={signIn.error} />}
      <Button variant="default" loading={signIn.isPending} onClick={() => mutate(undefined)}>
        Sign in with a passkey
      </Button>
    </>
  );
}

/** Calls an /auth endpoint and returns its errors by field. `gcTime: 0` keeps passwords out of the mutation cache. */
export function useAuth<Result>(path: string, onDone: (result: Result) => unknown) {
  const call = useMutation({
    gcTime: 0,
    mutationFn: (body: Record<string, unknown>) => auth<Result>(path, body),
    onSuccess: onDone,
  });
  return { send: call.mutate, isPending: call.isPending, ...formErrors(call.error) };
}
