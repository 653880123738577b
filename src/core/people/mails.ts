import type { LinkKind } from './rules.ts'

type Facts = Readonly<{ organisation: string; username: string; url: string; expiresAt: string }>

const until = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`

const intro: Readonly<Record<LinkKind, (facts: Facts) => Readonly<{ subject: string; what: string; else: string }>>> = {
  reset: ({ organisation }) => ({
    subject: `Your password for ${organisation}`,
    what: `Somebody asked for a new password for your account at ${organisation}. Set it with this link:`,
    else: 'If you did not ask for it, ignore this mail: your password stays as it is.',
  }),
  invitation: ({ organisation }) => ({
    subject: `Your account for ${organisation}`,
    what: `${organisation} created an account for you. Choose your password with this link:`,
    else: 'If you do not know this organisation, ignore this mail.',
  }),
}

/** Subject and text of the mail with a link. It has no text that users choose: an invitation may go to any address. */
export function linkMail(kind: LinkKind, facts: Facts): Readonly<{ subject: string; text: string }> {
  const { subject, what, else: otherwise } = intro[kind](facts)
  const lines = [
    ...['Hello,', '', what, '', facts.url, ''],
    ...[`Your login name is ${facts.username}. The link is valid once, until ${until(facts.expiresAt)}.`, otherwise],
  ]
  return { subject, text: `${lines.join('\n')}\n` }
}
