/** The list of API keys, with dialogs to create, edit, rotate and revoke keys. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Anchor, Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";
import { Fresh } from "../parts/fresh.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { CreateKey } from "./create-key.tsx";
import { EditKey } from "./edit-key.tsx";
import { KeyRow } from "./key-row.tsx";
import { RevokeKey } from "./revoke-key.tsx";
import { RotateKey } from "./rotate-key.tsx";

export function KeysPage() {
  const [isCreating, creation] = useDisclosure(false);
  const [revoking, setRevoking] = useState<Key>();
  const [rotating, setRotating] = useState<Key>();
  const [editing, setEditing] = useState<Key>();
  const query = useInfiniteQuery(
    KeyService.method.listKeys,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <Page
      title="API keys"
      badge={<Fresh query={query} />}
      intro={
        <>
          Your programs call the API with these keys, or use them as the password to{" "}
          <Anchor href="/docs/smtp">send over SMTP</Anchor>. A key is shown in full only once, when you create or rotate
          it.
        </>
      }
      actions={
        <WriteOnly>
          <Button onClick={creation.open}>Create key</Button>
        </WriteOnly>
      }
    >
      <PagedList
        query={query}
        what="the keys"
        label="Keys, newest first"
        framed
        keyOf={(key) => key.id}
        row={(key) => (
          <KeyRow
            subject={key}
            onEdit={() => setEditing(key)}
            onRotate={() => setRotating(key)}
            onRevoke={() => setRevoking(key)}
          />
        )}
        empty={
          <Empty
            action={
              <WriteOnly>
                <Button onClick={creation.open}>Create your first key</Button>
              </WriteOnly>
            }
          >
            No API keys yet. A program needs a key to send email.
          </Empty>
        }
      />
      <CreateKey isOpen={isCreating} onClose={creation.close} />
      <EditKey subject={editing} onClose={() => setEditing(undefined)} />
      <RotateKey subject={rotating} onClose={() => setRotating(undefined)} />
      <RevokeKey subject={revoking} onClose={() => setRevoking(undefined)} />
    </Page>
  );
}
