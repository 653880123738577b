import { durationIn, type TextLanguage, textIn, timeIn } from '../texts/index.ts'

export type MailKind = 'announced' | 'cancelled' | 'reverted'

type Facts = Readonly<{
  organisation: string
  startsAt: string | null
  endsBy: string | null
  timeZone: string
  expectedDowntimeMs: number
  isMeasured: boolean
  /** Where the current state stands. */
  url: string
}>

/** Subject and text for an administrator of the organisation. */
export function maintenanceMail(kind: MailKind, language: TextLanguage, facts: Facts): Readonly<{ subject: string; text: string }> {
  const { organisation, startsAt, endsBy, timeZone, expectedDowntimeMs, isMeasured, url } = facts
  const values = {
    ...{ organisation, url, duration: durationIn(language, expectedDowntimeMs) },
    when: startsAt === null ? '' : timeIn(language, { from: startsAt, to: endsBy, timeZone }),
  }
  const say = (key: Parameters<typeof textIn>[1]) => textIn(language, key, values)
  const lines = {
    announced: () => [
      say(endsBy === null ? 'maintenance.announced.from' : 'maintenance.announced.within'),
      `${say(isMeasured ? 'maintenance.measured' : 'maintenance.estimated')} ${say('maintenance.kept')}`,
      '',
      say('maintenance.moved'),
    ],
    cancelled: () => [say('maintenance.cancelled.what'), '', url],
    reverted: () => [`${say('maintenance.reverted.what')} ${say('maintenance.kept')}`, '', url],
  }
  return { subject: say(`maintenance.${kind}.subject`), text: `${[say('hello'), '', ...lines[kind]()].join('\n')}\n` }
}
