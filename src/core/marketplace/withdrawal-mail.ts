import { type TextLanguage, textIn, timeIn } from '../texts/index.ts'

/** `paid`: until when it is paid, null if that is not known yet; undefined for a free item. */
type Facts = Readonly<{ organisation: string; item: string; paid: string | null | undefined; timeZone: string; url: string }>

/** Subject and text for those who manage the marketplace of an organisation that uses a withdrawn item. */
export function withdrawalMail(language: TextLanguage, { paid, timeZone, ...names }: Facts): Readonly<{ subject: string; text: string }> {
  const until = paid ? timeIn(language, { from: paid, to: null, timeZone }) : ''
  const say = (key: Parameters<typeof textIn>[1]) => textIn(language, key, { ...names, until })
  const ofPaid = paid === null ? 'withdrawn.period' : 'withdrawn.until'
  return {
    subject: say('withdrawn.subject'),
    text: `${[say('hello'), '', `${say('withdrawn.what')} ${say(paid === undefined ? 'withdrawn.free' : ofPaid)}`, '', say('withdrawn.else')].join('\n')}\n`,
  }
}
