import { type TextLanguage, textIn } from '../texts/index.ts'
import type { LinkKind } from './rules.ts'

type Facts = Readonly<{ organisation: string; username: string; url: string; expiresAt: string }>

const until = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`

type Addressed = Readonly<{ kind: LinkKind; language: TextLanguage }>

/** Subject and text of the mail with a link. It has no text that users choose: an invitation may go to any address. */
export function linkMail(
  { kind, language }: Addressed,
  { organisation, username, url, expiresAt }: Facts,
): Readonly<{ subject: string; text: string }> {
  const say = (key: Parameters<typeof textIn>[1]) => textIn(language, key, { organisation, username, until: until(expiresAt) })
  const lines = [say('hello'), '', say(`${kind}.what`), '', url, '', say('link.valid'), say(`${kind}.else`)]
  return { subject: say(`${kind}.subject`), text: `${lines.join('\n')}\n` }
}
