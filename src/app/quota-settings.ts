/** The settings of quotas: what a workspace may use unless the operator has set a quota of its own. Part of the table in settings.ts. */
import { choice, quota } from "./config-shapes.ts";

/** Settings with NEW are for workspaces that were created through open sign-up. */
export const quotaSettings = {
  POSTHORN_QUOTA_EMAILS_PER_HOUR: {
    shape: quota,
    value: "unlimited",
    help: "Emails per hour of a workspace; an email counts once for each recipient. A number, or unlimited.",
  },
  POSTHORN_QUOTA_EMAILS_PER_DAY: {
    shape: quota,
    value: "unlimited",
    help: "Emails per day of a workspace; an email counts once for each recipient.",
  },
  POSTHORN_QUOTA_STORED_BYTES: {
    shape: quota,
    value: "unlimited",
    help: "Bytes of email and inbound content that a workspace may store.",
  },
  POSTHORN_QUOTA_INBOUND_PER_HOUR: {
    shape: quota,
    value: "unlimited",
    help: "Inbound messages per hour of a workspace. Beyond it, senders get a temporary error and retry later.",
  },
  POSTHORN_QUOTA_DOMAINS: { shape: quota, value: "10000", help: "Domains of a workspace." },
  POSTHORN_QUOTA_KEYS: { shape: quota, value: "10000", help: "API keys of a workspace that are not revoked." },
  POSTHORN_QUOTA_WEBHOOKS: { shape: quota, value: "50", help: "Webhooks of a workspace." },
  POSTHORN_QUOTA_MEMBERS: { shape: quota, value: "10000", help: "Members and open invitations of a workspace." },
  POSTHORN_QUOTA_STREAMS: { shape: quota, value: "10000", help: "Open event streams of a workspace, on all nodes." },
  POSTHORN_QUOTA_WORKSPACES: { shape: quota, value: "100", help: "Workspaces that a person may own." },
  POSTHORN_QUOTA_NEW_EMAILS_PER_HOUR: {
    shape: quota,
    value: "100",
    help: "Emails per hour of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_EMAILS_PER_DAY: {
    shape: quota,
    value: "1000",
    help: "Emails per day of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_STORED_BYTES: {
    shape: quota,
    value: String(1024 * 1024 * 1024),
    help: "Stored bytes of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_INBOUND_PER_HOUR: {
    shape: quota,
    value: "1000",
    help: "Inbound messages per hour of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_DOMAINS: {
    shape: quota,
    value: "5",
    help: "Domains of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_KEYS: {
    shape: quota,
    value: "20",
    help: "API keys of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_WEBHOOKS: {
    shape: quota,
    value: "5",
    help: "Webhooks of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_MEMBERS: {
    shape: quota,
    value: "10",
    help: "Members and open invitations of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_STREAMS: {
    shape: quota,
    value: "10",
    help: "Open event streams of a workspace that was created through open sign-up.",
  },
  POSTHORN_QUOTA_NEW_WORKSPACES: {
    shape: quota,
    value: "3",
    help: "Workspaces that a person who signed up through open sign-up may own.",
  },
  POSTHORN_ABUSE_BRAKE: {
    shape: choice("new", "all", "none"),
    value: "new",
    help: "Whose workspaces are suspended when too much of their mail bounces or is reported as spam: those created through open sign-up (new), all, or none. The others are warned.",
  },
} as const;
