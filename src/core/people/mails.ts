import type { Language } from '../kit/index.ts'
import type { LinkKind } from './rules.ts'

type Facts = Readonly<{ organisation: string; username: string; url: string; expiresAt: string }>
type Texts = Readonly<Record<LinkKind, (facts: Facts) => Readonly<{ subject: string; what: string; else: string }>>> &
  Readonly<{ hello: string; valid(facts: Facts): string }>

const until = ({ expiresAt: iso }: Facts): string => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`

const texts: Readonly<Record<Language, Texts>> = {
  en: {
    hello: 'Hello,',
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
    valid: (facts) => `Your login name is ${facts.username}. The link is valid once, until ${until(facts)}.`,
  },
  de: {
    hello: 'Guten Tag,',
    reset: ({ organisation }) => ({
      subject: `Ihr Passwort für ${organisation}`,
      what: `für Ihr Konto bei ${organisation} wurde ein neues Passwort angefordert. Mit diesem Link setzen Sie es:`,
      else: 'Haben Sie es nicht angefordert, ignorieren Sie diese Mail: Ihr Passwort bleibt, wie es ist.',
    }),
    invitation: ({ organisation }) => ({
      subject: `Ihr Konto bei ${organisation}`,
      what: `${organisation} hat ein Konto für Sie angelegt. Mit diesem Link wählen Sie Ihr Passwort:`,
      else: 'Kennen Sie diese Einrichtung nicht, ignorieren Sie diese Mail.',
    }),
    valid: (facts) => `Ihr Anmeldename ist ${facts.username}. Der Link gilt einmal, bis ${until(facts)}.`,
  },
}

type Addressed = Readonly<{ kind: LinkKind; language: Language }>

/** Subject and text of the mail with a link. It has no text that users choose: an invitation may go to any address. */
export function linkMail({ kind, language }: Addressed, facts: Facts): Readonly<{ subject: string; text: string }> {
  const { hello, valid, [kind]: intro } = texts[language]
  const { subject, what, else: otherwise } = intro(facts)
  const lines = [hello, '', what, '', facts.url, '', valid(facts), otherwise]
  return { subject, text: `${lines.join('\n')}\n` }
}
