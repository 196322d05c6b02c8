// Generated from the contract in proto/ by "npm run generate": every method with the types of its request and its response. Do not edit.
import type {
  ListAuditEntriesRequest,
  ListAuditEntriesResponse,
  ExportAuditEntriesRequest,
  ExportAuditEntriesResponse,
} from "./audit.ts";
import type {
  CheckDeliverabilityRequest,
  CheckDeliverabilityResponse,
} from "./deliverability.ts";
import type {
  AddDomainRequest,
  AddDomainResponse,
  GetDomainRequest,
  GetDomainResponse,
  ListDomainsRequest,
  ListDomainsResponse,
  VerifyDomainRequest,
  VerifyDomainResponse,
  DeleteDomainRequest,
  DeleteDomainResponse,
  RotateDkimRequest,
  RotateDkimResponse,
  GetDkimKeysRequest,
  GetDkimKeysResponse,
  ImportDkimKeyRequest,
  ImportDkimKeyResponse,
  ExportDkimKeyRequest,
  ExportDkimKeyResponse,
  RemoveDkimKeyRequest,
  RemoveDkimKeyResponse,
  GetZoneFileRequest,
  GetZoneFileResponse,
  CreateDomainLinkRequest,
  CreateDomainLinkResponse,
  ListDomainLinksRequest,
  ListDomainLinksResponse,
  RevokeDomainLinkRequest,
  RevokeDomainLinkResponse,
  PublishToLocalDnsRequest,
  PublishToLocalDnsResponse,
} from "./domain.ts";
import type {
  SendEmailRequest,
  SendEmailResponse,
  StreamEventsRequest,
  StreamEventsResponse,
  GetEmailRequest,
  GetEmailResponse,
  ListEmailsRequest,
  ListEmailsResponse,
  CountEmailsRequest,
  CountEmailsResponse,
  ExportEmailsRequest,
  ExportEmailsResponse,
  CancelEmailRequest,
  CancelEmailResponse,
  UpdateEmailRequest,
  UpdateEmailResponse,
  GetEmailContentRequest,
  GetEmailContentResponse,
  SendEmailBatchRequest,
  SendEmailBatchResponse,
  ListEventsRequest,
  ListEventsResponse,
} from "./email.ts";
import type {
  ListInboundRequest,
  ListInboundResponse,
  GetInboundRequest,
  GetInboundResponse,
  GetInboundContentRequest,
  GetInboundContentResponse,
  GetInboundAttachmentRequest,
  GetInboundAttachmentResponse,
  ListUnattributedReportsRequest,
  ListUnattributedReportsResponse,
} from "./inbound.ts";
import type {
  CreateKeyRequest,
  CreateKeyResponse,
  ListKeysRequest,
  ListKeysResponse,
  UpdateKeyRequest,
  UpdateKeyResponse,
  RotateKeyRequest,
  RotateKeyResponse,
  RevokeKeyRequest,
  RevokeKeyResponse,
} from "./key.ts";
import type {
  ListPeopleRequest,
  ListPeopleResponse,
  DisablePersonRequest,
  DisablePersonResponse,
  EnablePersonRequest,
  EnablePersonResponse,
  DeletePersonRequest,
  DeletePersonResponse,
  ListAllWorkspacesRequest,
  ListAllWorkspacesResponse,
  SuspendWorkspaceRequest,
  SuspendWorkspaceResponse,
  ResumeWorkspaceRequest,
  ResumeWorkspaceResponse,
  SetQuotasRequest,
  SetQuotasResponse,
  DeleteWorkspaceRequest,
  DeleteWorkspaceResponse,
  ListSystemMailRequest,
  ListSystemMailResponse,
  RemoveSystemSuppressionRequest,
  RemoveSystemSuppressionResponse,
  ListUnknownWordingsRequest,
  ListUnknownWordingsResponse,
  ListServiceAuditEntriesRequest,
  ListServiceAuditEntriesResponse,
  ExportServiceAuditEntriesRequest,
  ExportServiceAuditEntriesResponse,
} from "./operator.ts";
import type {
  ListDestinationsRequest,
  ListDestinationsResponse,
  RetryDestinationRequest,
  RetryDestinationResponse,
  PauseDestinationRequest,
  PauseDestinationResponse,
  ResumeDestinationRequest,
  ResumeDestinationResponse,
  PurgeDestinationRequest,
  PurgeDestinationResponse,
} from "./queue.ts";
import type {
  GetDmarcSummaryRequest,
  GetDmarcSummaryResponse,
  ListDmarcSourcesRequest,
  ListDmarcSourcesResponse,
  ListReportsRequest,
  ListReportsResponse,
  GetTlsSummaryRequest,
  GetTlsSummaryResponse,
} from "./report.ts";
import type {
  GetStatsRequest,
  GetStatsResponse,
  GetStatsSettingsRequest,
  GetStatsSettingsResponse,
  UpdateStatsSettingsRequest,
  UpdateStatsSettingsResponse,
} from "./stats.ts";
import type {
  ListSuppressionsRequest,
  ListSuppressionsResponse,
  AddSuppressionRequest,
  AddSuppressionResponse,
  RemoveSuppressionRequest,
  RemoveSuppressionResponse,
  ImportSuppressionsRequest,
  ImportSuppressionsResponse,
  ExportSuppressionsRequest,
  ExportSuppressionsResponse,
  ListUnsubscribesRequest,
  ListUnsubscribesResponse,
  AddUnsubscribeRequest,
  AddUnsubscribeResponse,
  RemoveUnsubscribeRequest,
  RemoveUnsubscribeResponse,
} from "./suppression.ts";
import type {
  CreateWebhookRequest,
  CreateWebhookResponse,
  GetWebhookRequest,
  GetWebhookResponse,
  ListWebhooksRequest,
  ListWebhooksResponse,
  UpdateWebhookRequest,
  UpdateWebhookResponse,
  DeleteWebhookRequest,
  DeleteWebhookResponse,
  RotateWebhookSecretRequest,
  RotateWebhookSecretResponse,
  ListWebhookDeliveriesRequest,
  ListWebhookDeliveriesResponse,
  ListWebhookAttemptsRequest,
  ListWebhookAttemptsResponse,
  RedeliverWebhookRequest,
  RedeliverWebhookResponse,
  SendTestWebhookRequest,
  SendTestWebhookResponse,
} from "./webhook.ts";
import type {
  CreateWorkspaceRequest,
  CreateWorkspaceResponse,
  ListWorkspacesRequest,
  ListWorkspacesResponse,
  UpdateWorkspaceRequest,
  UpdateWorkspaceResponse,
  ListMembersRequest,
  ListMembersResponse,
  InviteMemberRequest,
  InviteMemberResponse,
  UpdateMemberRequest,
  UpdateMemberResponse,
  ListMemberKeysRequest,
  ListMemberKeysResponse,
  RemoveMemberRequest,
  RemoveMemberResponse,
  GetQuotasRequest,
  GetQuotasResponse,
} from "./workspace.ts";

/** Methods with one response. */
export interface UnaryMethods {
  /** Lists entries, newest first. */
  "AuditService/ListAuditEntries": { request: ListAuditEntriesRequest; response: ListAuditEntriesResponse };
  /** Returns entries as JSON lines, newest first, up to 5000 per page: one `AuditEntry` in each line. */
  "AuditService/ExportAuditEntries": { request: ExportAuditEntriesRequest; response: ExportAuditEntriesResponse };
  /** Checks a domain and a sample email against each demand, and says what is missing and how to fix it. */
  "DeliverabilityService/CheckDeliverability": { request: CheckDeliverabilityRequest; response: CheckDeliverabilityResponse };
  /** Registers a domain and returns the DNS records to publish. */
  "DomainService/AddDomain": { request: AddDomainRequest; response: AddDomainResponse };
  /** Returns one domain with the state of its DNS records. */
  "DomainService/GetDomain": { request: GetDomainRequest; response: GetDomainResponse };
  /** Lists the workspace's domains, newest first, page by page. */
  "DomainService/ListDomains": { request: ListDomainsRequest; response: ListDomainsResponse };
  /** Checks the domain's records in DNS now and returns the new state. */
  "DomainService/VerifyDomain": { request: VerifyDomainRequest; response: VerifyDomainResponse };
  /**
   * Deletes a domain. New sends from it are rejected immediately. Mail that was already accepted is still signed and delivered.
   * Its DKIM keys stay in DNS for 7 days after their last signature.
   */
  "DomainService/DeleteDomain": { request: DeleteDomainRequest; response: DeleteDomainResponse };
  /**
   * Replaces the domain's DKIM keys. You do not need to publish anything: the CNAME records keep their targets, and the
   * service publishes the new keys there. A new key starts to sign after its records have been in DNS for their TTL. The
   * old key stays in DNS for 7 days after its last signature.
   */
  "DomainService/RotateDkim": { request: RotateDkimRequest; response: RotateDkimResponse };
  /**
   * Returns the DKIM keys of a domain: the two that the service made, a new one that does not sign yet, and those that were
   * imported. Private keys are not included.
   */
  "DomainService/GetDkimKeys": { request: GetDkimKeysRequest; response: GetDkimKeysResponse };
  /**
   * Adds a DKIM key of your own to a domain. Publish its public key as the TXT record `key.record`. The key signs as soon as a
   * check finds the record, and as long as checks find it; otherwise a key of the service signs. The domain still needs its
   * own DKIM records: an imported key does not prove control of the domain, and does not make it send or receive.
   */
  "DomainService/ImportDkimKey": { request: ImportDkimKeyRequest; response: ImportDkimKeyResponse };
  /**
   * Returns the private key of a DKIM key, for a signed-in owner who has proved who they are. API keys cannot call it: a key that
   * leaks can be revoked, but an exported private key signs until its record is removed from DNS. The audit log records it.
   */
  "DomainService/ExportDkimKey": { request: ExportDkimKeyRequest; response: ExportDkimKeyResponse };
  /**
   * Removes an imported DKIM key and deletes its private key. Mail is signed with another key from then on. Keep the TXT record in
   * DNS for 7 days, so that mail in transit can be verified.
   */
  "DomainService/RemoveDkimKey": { request: RemoveDkimKeyRequest; response: RemoveDkimKeyResponse };
  /**
   * Returns the domain's records as a zone file (RFC 1035 §5), which most DNS providers import. Records that must replace
   * others, and the inbound MX record, are comments: an import of the file never redirects mail.
   */
  "DomainService/GetZoneFile": { request: GetZoneFileRequest; response: GetZoneFileResponse };
  /**
   * Creates a link that shows the domain's records, and what DNS has, to a person without an account: the colleague who runs
   * DNS. The link is read-only and expires. It shows nothing else of the workspace.
   */
  "DomainService/CreateDomainLink": { request: CreateDomainLinkRequest; response: CreateDomainLinkResponse };
  /** Lists the links of a domain that work, newest first, page by page. */
  "DomainService/ListDomainLinks": { request: ListDomainLinksRequest; response: ListDomainLinksResponse };
  /** Revokes a link. It stops working immediately. */
  "DomainService/RevokeDomainLink": { request: RevokeDomainLinkRequest; response: RevokeDomainLinkResponse };
  /**
   * Publishes the domain's records in the service's own DNS server and checks them immediately. For tests without internet
   * access: it works only in capture mode and only for reserved names such as `shop.test` or `example.com`.
   */
  "DomainService/PublishToLocalDns": { request: PublishToLocalDnsRequest; response: PublishToLocalDnsResponse };
  /** Sends an email to one or more recipients. */
  "EmailService/SendEmail": { request: SendEmailRequest; response: SendEmailResponse };
  /**
   * Returns one email with the state of each recipient. A key with send permission, or with `KEY_SCOPE_SEND` and without
   * `KEY_SCOPE_EMAILS`, can only read emails that it sent.
   */
  "EmailService/GetEmail": { request: GetEmailRequest; response: GetEmailResponse };
  /** Lists emails, newest first. All filters that are set must match. */
  "EmailService/ListEmails": { request: ListEmailsRequest; response: ListEmailsResponse };
  /** Counts the emails that match the filters, by outcome. A call reads a bounded number of emails: `atLeast` says when there are more. */
  "EmailService/CountEmails": { request: CountEmailsRequest; response: CountEmailsResponse };
  /**
   * Cancels an email for every recipient that is still waiting: a scheduled email, or one between two attempts.
   * Recipients that are settled or have an attempt in progress are not changed.
   */
  "EmailService/CancelEmail": { request: CancelEmailRequest; response: CancelEmailResponse };
  /**
   * Changes the time of a scheduled email, before its first attempt. The Date header and the end of the retries move with it. The time is
   * changed for all recipients or for none, and never while an attempt is in progress. A call with the time that the email already has
   * changes nothing and succeeds.
   */
  "EmailService/UpdateEmail": { request: UpdateEmailRequest; response: UpdateEmailResponse };
  /** Returns the content of an email: its text, its HTML and the complete message as it is sent. */
  "EmailService/GetEmailContent": { request: GetEmailContentRequest; response: GetEmailContentResponse };
  /**
   * Sends up to 500 emails in one call. Each email has its own result, in the order of the request: an invalid email does not
   * affect the others. All are sent in the background, as with `async`. An `Idempotency-Key` header covers the whole batch.
   */
  "EmailService/SendEmailBatch": { request: SendEmailBatchRequest; response: SendEmailBatchResponse };
  /** Lists stored events after a cursor, oldest first, without waiting for new ones. */
  "EmailService/ListEvents": { request: ListEventsRequest; response: ListEventsResponse };
  /** Lists inbound messages, newest first. All filters that are set must match. */
  "InboundService/ListInbound": { request: ListInboundRequest; response: ListInboundResponse };
  /** Returns one inbound message with its text and HTML. */
  "InboundService/GetInbound": { request: GetInboundRequest; response: GetInboundResponse };
  /** Returns an inbound message exactly as it arrived. */
  "InboundService/GetInboundContent": { request: GetInboundContentRequest; response: GetInboundContentResponse };
  /** Returns one attachment of an inbound message. */
  "InboundService/GetInboundAttachment": { request: GetInboundAttachmentRequest; response: GetInboundAttachmentResponse };
  /**
   * Lists bounces and complaints about emails of this workspace that changed nothing, because they do not prove which
   * recipient they are about, newest first. Repeated reports about one email are counted in one entry. The newest 1,000
   * entries are kept.
   */
  "InboundService/ListUnattributedReports": { request: ListUnattributedReportsRequest; response: ListUnattributedReportsResponse };
  /** Creates a key. Only this response contains its secret. */
  "KeyService/CreateKey": { request: CreateKeyRequest; response: CreateKeyResponse };
  /** Lists the workspace's keys, newest first, including revoked and expired ones. Secrets are not included. */
  "KeyService/ListKeys": { request: ListKeysRequest; response: ListKeysResponse };
  /**
   * Changes the name, the expiry and the limits of a key. The secret, the permission and the kind (live or test) do not change. Every node
   * uses the new limits for the next call. Streams that the key opened end if its scopes or addresses change.
   */
  "KeyService/UpdateKey": { request: UpdateKeyRequest; response: UpdateKeyResponse };
  /**
   * Replaces a key: creates a key with the same settings and a new secret, and lets the old one expire after an overlap. Only
   * this response contains the new secret. Both keys work during the overlap.
   */
  "KeyService/RotateKey": { request: RotateKeyRequest; response: RotateKeyResponse };
  /** Revokes a key immediately and permanently. Streams opened with it end. Revoking a revoked key has no effect. */
  "KeyService/RevokeKey": { request: RevokeKeyRequest; response: RevokeKeyResponse };
  /** Lists the people of the service, newest first. */
  "OperatorService/ListPeople": { request: ListPeopleRequest; response: ListPeopleResponse };
  /**
   * Disables a person: their sessions and streams end at once on every node, they cannot sign in, and invitations to their
   * address do not work. Keys that they created stay valid unless `revokeKeys` is set. Disabling a disabled person only
   * revokes keys.
   */
  "OperatorService/DisablePerson": { request: DisablePersonRequest; response: DisablePersonResponse };
  /** Lets a disabled person sign in again. Enabling an enabled person has no effect. */
  "OperatorService/EnablePerson": { request: EnablePersonRequest; response: EnablePersonResponse };
  /**
   * Deletes a person with all personal data: the account, sessions, links, memberships, invitations to the address, and the
   * mail that the service sent to the address about the account. Export the person first with `posthorn people export`.
   */
  "OperatorService/DeletePerson": { request: DeletePersonRequest; response: DeletePersonResponse };
  /** Lists the workspaces of the service with their quotas and what they use, newest first. */
  "OperatorService/ListAllWorkspaces": { request: ListAllWorkspacesRequest; response: ListAllWorkspacesResponse };
  /** Stops a workspace from sending: new emails are refused, queued mail waits, and everything else works. */
  "OperatorService/SuspendWorkspace": { request: SuspendWorkspaceRequest; response: SuspendWorkspaceResponse };
  /** Lets a suspended workspace send again: its queued mail is sent, and the abuse brake resets its counts. */
  "OperatorService/ResumeWorkspace": { request: ResumeWorkspaceRequest; response: ResumeWorkspaceResponse };
  /** Sets quotas of a workspace. Quotas that the request does not name stay as they are. */
  "OperatorService/SetQuotas": { request: SetQuotasRequest; response: SetQuotasResponse };
  /**
   * Deletes a workspace with all its data. At once, its keys and members lose access, it neither sends nor receives, and its
   * webhooks stop; the data is deleted in the background. Its public DKIM keys stay in DNS for 7 days. This cannot be undone:
   * export the workspace first with `posthorn workspaces export`. Deleting a workspace that is being deleted has no effect.
   */
  "OperatorService/DeleteWorkspace": { request: DeleteWorkspaceRequest; response: DeleteWorkspaceResponse };
  /**
   * Lists the mail that the service itself sent, newest first: sign-up and password links, invitations, and notices to owners.
   * The answer never has the content of the mail, because a link in it gives access to an account.
   */
  "OperatorService/ListSystemMail": { request: ListSystemMailRequest; response: ListSystemMailResponse };
  /**
   * Lets an address get mail of the service again, after a bounce or a complaint. The suppression lists of workspaces do not
   * change.
   */
  "OperatorService/RemoveSystemSuppression": { request: RemoveSystemSuppressionRequest; response: RemoveSystemSuppressionResponse };
  /**
   * Lists replies of receivers whose wording Posthorn does not know, the most frequent first. Their plain code decided the
   * outcome. Replies are counted by their shape, which has no addresses, host names and numbers, for the receiver and not for
   * a workspace. Up to 1000 shapes are kept, 10 for each receiver, for 30 days after the last reply.
   */
  "OperatorService/ListUnknownWordings": { request: ListUnknownWordingsRequest; response: ListUnknownWordingsResponse };
  /** Lists the entries of the audit log of the whole service and of every workspace, newest first. */
  "OperatorService/ListServiceAuditEntries": { request: ListServiceAuditEntriesRequest; response: ListServiceAuditEntriesResponse };
  /**
   * Returns the entries of the audit log of the whole service and of every workspace as JSON lines, newest first, up to 5000
   * per page: one `AuditEntry` in each line.
   */
  "OperatorService/ExportServiceAuditEntries": { request: ExportServiceAuditEntriesRequest; response: ExportServiceAuditEntriesResponse };
  /** Lists the destinations with waiting mail, ordered by the number of recipients, highest first. */
  "QueueService/ListDestinations": { request: ListDestinationsRequest; response: ListDestinationsResponse };
  /** Retries every waiting recipient of a destination now instead of at its next attempt time. Scheduled emails keep their time. */
  "QueueService/RetryDestination": { request: RetryDestinationRequest; response: RetryDestinationResponse };
  /** Pauses the mail for a destination until ResumeDestination. Attempts in progress continue, and paused mail still expires. */
  "QueueService/PauseDestination": { request: PauseDestinationRequest; response: PauseDestinationResponse };
  /** Resumes the mail for a paused destination. */
  "QueueService/ResumeDestination": { request: ResumeDestinationRequest; response: ResumeDestinationResponse };
  /** Fails every waiting recipient of a destination with the category `purged`. This cannot be undone. */
  "QueueService/PurgeDestination": { request: PurgeDestinationRequest; response: PurgeDestinationResponse };
  /** Returns the counts of a domain's DMARC reports per day and in total, and the next safe step toward `p=reject`. */
  "ReportService/GetDmarcSummary": { request: GetDmarcSummaryRequest; response: GetDmarcSummaryResponse };
  /** Lists the addresses that sent mail in the name of a domain, those with the most messages first. */
  "ReportService/ListDmarcSources": { request: ListDmarcSourcesRequest; response: ListDmarcSourcesResponse };
  /** Lists the reports about a domain, both DMARC and TLS reports, newest first. */
  "ReportService/ListReports": { request: ListReportsRequest; response: ListReportsResponse };
  /** Returns the counts of a domain's TLS reports per day and in total, and what failed. */
  "ReportService/GetTlsSummary": { request: GetTlsSummaryRequest; response: GetTlsSummaryResponse };
  /**
   * Returns the counts and rates of a time range: per bucket, in total, per receiving site, and with `groupBy` per value of a
   * dimension.
   */
  "StatsService/GetStats": { request: GetStatsRequest; response: GetStatsResponse };
  /** Returns the metadata keys that are counted, and when an alert is raised. */
  "StatsService/GetStatsSettings": { request: GetStatsSettingsRequest; response: GetStatsSettingsResponse };
  /**
   * Changes the metadata keys that are counted, and when an alert is raised. Fields that are not set stay unchanged. Mail is counted
   * by a new metadata key from then on.
   */
  "StatsService/UpdateStatsSettings": { request: UpdateStatsSettingsRequest; response: UpdateStatsSettingsResponse };
  /** Lists suppressed addresses, newest first. */
  "SuppressionService/ListSuppressions": { request: ListSuppressionsRequest; response: ListSuppressionsResponse };
  /** Adds an address to the list. An address that is already on the list is returned unchanged. */
  "SuppressionService/AddSuppression": { request: AddSuppressionRequest; response: AddSuppressionResponse };
  /** Removes an address from the list, so that it gets mail again. */
  "SuppressionService/RemoveSuppression": { request: RemoveSuppressionRequest; response: RemoveSuppressionResponse };
  /** Adds addresses from CSV text. Valid lines are added even if others are invalid; the response lists the invalid ones. */
  "SuppressionService/ImportSuppressions": { request: ImportSuppressionsRequest; response: ImportSuppressionsResponse };
  /** Returns the list as CSV text, in pages of up to 100,000 lines, in the format that ImportSuppressions reads. */
  "SuppressionService/ExportSuppressions": { request: ExportSuppressionsRequest; response: ExportSuppressionsResponse };
  /**
   * Lists the addresses whose recipients have unsubscribed from a topic, newest first. An email with `unsubscribe` to such an address is
   * not attempted if it has that topic. Emails without `unsubscribe` are not affected.
   */
  "SuppressionService/ListUnsubscribes": { request: ListUnsubscribesRequest; response: ListUnsubscribesResponse };
  /**
   * Unsubscribes an address from a topic, for example a recipient of an earlier list, or one who asked by phone. An entry that exists is
   * returned unchanged. It writes no event.
   */
  "SuppressionService/AddUnsubscribe": { request: AddUnsubscribeRequest; response: AddUnsubscribeResponse };
  /**
   * Removes an entry, so that the address gets emails with this topic again. Do this only if the recipient asked for it. It writes no
   * event.
   */
  "SuppressionService/RemoveUnsubscribe": { request: RemoveUnsubscribeRequest; response: RemoveUnsubscribeResponse };
  /** Creates a webhook. It receives events that happen after the call. */
  "WebhookService/CreateWebhook": { request: CreateWebhookRequest; response: CreateWebhookResponse };
  /** Returns one webhook. */
  "WebhookService/GetWebhook": { request: GetWebhookRequest; response: GetWebhookResponse };
  /** Lists the workspace's webhooks, newest first. */
  "WebhookService/ListWebhooks": { request: ListWebhooksRequest; response: ListWebhooksResponse };
  /**
   * Changes a webhook. Fields that are not set stay unchanged. A webhook that is enabled again receives only events that happen
   * from then on; RedeliverWebhook posts the missed ones.
   */
  "WebhookService/UpdateWebhook": { request: UpdateWebhookRequest; response: UpdateWebhookResponse };
  /** Deletes a webhook and its waiting deliveries. */
  "WebhookService/DeleteWebhook": { request: DeleteWebhookRequest; response: DeleteWebhookResponse };
  /** Replaces the signing secret of a webhook. For 24 hours every delivery is signed with both the new and the old secret. */
  "WebhookService/RotateWebhookSecret": { request: RotateWebhookSecretRequest; response: RotateWebhookSecretResponse };
  /**
   * Lists the deliveries of a webhook, newest first, each with its last attempt. For keys with read permission, and for
   * keys with scopes but without `KEY_SCOPE_EVENTS` and `KEY_SCOPE_INBOUND`, `payload` is empty.
   */
  "WebhookService/ListWebhookDeliveries": { request: ListWebhookDeliveriesRequest; response: ListWebhookDeliveriesResponse };
  /**
   * Lists the attempts of one delivery, newest first: what was sent, what the endpoint answered, and how long it took.
   * Attempts are kept as long as their delivery. Those of a version without this method are missing.
   */
  "WebhookService/ListWebhookAttempts": { request: ListWebhookAttemptsRequest; response: ListWebhookAttemptsResponse };
  /** Posts events again: one earlier delivery, or every event of a range of cursors that matches the webhook's event types. */
  "WebhookService/RedeliverWebhook": { request: RedeliverWebhookRequest; response: RedeliverWebhookResponse };
  /**
   * Posts one sample event to the webhook now and returns the endpoint's response. It is attempted once and counts neither as a
   * success nor as a failure. Its `metadata` contains `posthornTest`, so that the endpoint can distinguish it from a real event.
   */
  "WebhookService/SendTestWebhook": { request: SendTestWebhookRequest; response: SendTestWebhookResponse };
  /** Creates a workspace with the signed-in person as its owner. Keys cannot call it. */
  "WorkspaceService/CreateWorkspace": { request: CreateWorkspaceRequest; response: CreateWorkspaceResponse };
  /** Lists the workspaces of the caller: for a key its own workspace, for a person every workspace that they are a member of. */
  "WorkspaceService/ListWorkspaces": { request: ListWorkspacesRequest; response: ListWorkspacesResponse };
  /** Renames a workspace, or changes whether its members need a second factor. Only for owners; keys cannot call it. */
  "WorkspaceService/UpdateWorkspace": { request: UpdateWorkspaceRequest; response: UpdateWorkspaceResponse };
  /** Lists the members of a workspace, including open invitations, ordered by email address. */
  "WorkspaceService/ListMembers": { request: ListMembersRequest; response: ListMembersResponse };
  /**
   * Invites a person by email. The invitation is valid for 7 days; inviting again renews it. Only for owners;
   * keys cannot call it.
   */
  "WorkspaceService/InviteMember": { request: InviteMemberRequest; response: InviteMemberResponse };
  /** Changes the role of a member or of an invited person. Only for owners; keys cannot call it. */
  "WorkspaceService/UpdateMember": { request: UpdateMemberRequest; response: UpdateMemberResponse };
  /**
   * Lists the keys that a member created in this workspace and that are not revoked, newest first: what RemoveMember with
   * `revokeKeys` would revoke. Only for owners; keys cannot call it.
   */
  "WorkspaceService/ListMemberKeys": { request: ListMemberKeysRequest; response: ListMemberKeysResponse };
  /**
   * Removes a member or revokes an invitation. The member's sessions lose access to the workspace at once, and their open
   * streams end. Keys that the member created stay valid unless `revokeKeys` is set. Only for owners; keys cannot call it.
   */
  "WorkspaceService/RemoveMember": { request: RemoveMemberRequest; response: RemoveMemberResponse };
  /** Returns the quotas of a workspace, their usage, and whether the workspace is suspended or warned. */
  "WorkspaceService/GetQuotas": { request: GetQuotasRequest; response: GetQuotasResponse };
}

/** Methods with a stream of responses. */
export interface StreamMethods {
  /** Streams the workspace's events: first the stored ones, then each new one as it happens. */
  "EmailService/StreamEvents": { request: StreamEventsRequest; response: StreamEventsResponse };
  /**
   * Returns all emails that match the filters as the chunks of one file, newest first: CSV with a header line, or one JSON object per
   * line. The file is complete when the stream ends without an error. Emails that are accepted meanwhile are not included.
   */
  "EmailService/ExportEmails": { request: ExportEmailsRequest; response: ExportEmailsResponse };
}
