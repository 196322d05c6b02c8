/** The words of the mails that Posthorn sends to people. Plain text: nothing in them that a name or a workspace could bend. */

export type Letter = { subject: string; body: string };

export function resetLetter(link: string): Letter {
  return {
    subject: "Set a new password for Posthorn",
    body: `Somebody, probably you, asked for a new password for this address at Posthorn.

Set it here, within an hour:
${link}

If it was not you, do nothing: the password stays as it is.
`,
  };
}

export function signUpLetter(link: string): Letter {
  return {
    subject: "Sign up for Posthorn",
    body: `Somebody, probably you, asked to sign up for Posthorn with this address.

Go on here, within a day:
${link}

If it was not you, do nothing.
`,
  };
}

/** The answer on the screen is the same as for a new address; only the owner of the mailbox learns more. */
export function knownLetter(base: string): Letter {
  return {
    subject: "You have a Posthorn account already",
    body: `Somebody, probably you, asked to sign up for Posthorn with this address. It has an account already.

Sign in here, or ask for a new password there:
${base}/sign-in

If it was not you, do nothing.
`,
  };
}

export function invitationLetter(invitation: { workspace: string; role: string; link: string }): Letter {
  return {
    subject: `You are invited to ${invitation.workspace} on Posthorn`,
    body: `You are invited to the workspace ${invitation.workspace} on Posthorn, as ${invitation.role}.

Join here, within 7 days:
${invitation.link}

If you did not expect this, do nothing.
`,
  };
}
