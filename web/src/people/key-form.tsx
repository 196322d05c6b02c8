/** Asks for an API key and tries it before it is kept: a way in without an account. */
import { ConnectError, createClient, Code as ErrorCode } from "@connectrpc/connect";
import { Code, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { KeyService } from "../../../src/gen/v1/key_pb.ts";
import { explain } from "../api/problem.ts";
import { signInWithKey } from "../api/session.ts";
import { transport } from "../api/transport.ts";
import { Form, SecretField } from "../parts/form.tsx";

export function KeyForm() {
  const [key, setKey] = useState("");
  const attempt = useMutation({
    // The key must not stay in the cache of mutations.
    gcTime: 0,
    mutationFn: async (candidate: string) => {
      // A blank inside cannot be part of a key, and the browser would refuse the header with words of its own.
      if (!/^[\x21-\x7e]+$/.test(candidate)) throw new Error("A key has no blanks and no special characters.");
      const headers = { authorization: `Bearer ${candidate}` };
      await createClient(KeyService, transport).listKeys({ pageSize: 1 }, { headers });
      signInWithKey(candidate);
    },
  });
  const submit = () => {
    if (key.trim() !== "") attempt.mutate(key.trim());
  };
  return (
    <Stack>
      <Form act="Sign in with the key" isPending={attempt.isPending} onSubmit={submit} isWide>
        <SecretField
          label="API key"
          description="With full or read permission. It is kept in this browser tab only, until you close it."
          placeholder="ph_…"
          value={key}
          onChange={setKey}
          error={attempt.error && refusal(attempt.error)}
          autoComplete="off"
          spellCheck={false}
          what="the key"
          isNeeded
        />
      </Form>
      <Text size="sm" c="dimmed">
        No key at hand? The first start of the server writes one to the file <Code>first-key</Code> in its data
        directory. <Code>posthorn keys create</Code> makes another.
      </Text>
    </Stack>
  );
}

/** The API's own words are for programs; here somebody has just pasted a key. */
function refusal(error: unknown): string {
  const { code } = ConnectError.from(error);
  if (code === ErrorCode.Unauthenticated)
    return "This key is not accepted. Check that all of it was pasted, and that it has not been revoked.";
  if (code === ErrorCode.PermissionDenied)
    return "This key may only send. The dashboard needs one with full or read permission.";
  const { title, message } = explain(error);
  return `${title}. ${message}`;
}
