import type { Maintenance } from '../../core/maintenance/index.ts'
import { durationText, timeText } from '../../core/texts/index.ts'
import { Icon, type Tone } from '../kit/index.ts'
import { maintenanceWords } from './words/maintenance.ts'
import { useLanguage } from './words.tsx'

type Shown = Readonly<{ timeZone: string; maintenance: readonly Maintenance[] }>

/** The planned maintenance and the last one, in the time of the school. */
export function MaintenanceNotice({ timeZone, maintenance }: Shown) {
  const { language, words } = useLanguage()
  const said = maintenanceWords[language]
  const at = (from: string, to: string | null = null) => timeText(words.locale, { from, to, timeZone })
  const lasted = (ms: number) => durationText(words.locale, ms)
  const lines: Readonly<Record<Maintenance['status'], (one: Maintenance) => string>> = {
    planned: ({ startsAt, endsBy, expectedDowntimeMs, isMeasured }) =>
      startsAt === null
        ? said.putOff
        : `${said.planned(at(startsAt, endsBy), endsBy === null)}. ${said.away({ duration: lasted(expectedDowntimeMs), isMeasured })}`,
    done: ({ endedAt, downtimeMs }) => said.done(at(endedAt ?? ''), downtimeMs === null ? null : lasted(downtimeMs)),
    reverted: () => said.reverted,
    cancelled: () => said.cancelled,
  }
  return (
    <section className="school-notice" aria-label={said.title}>
      {maintenance.map((one) => (
        <p key={one.maintenanceId}>
          <Icon tone={tones[one.status]} />
          <span>{lines[one.status](one)}</span>
        </p>
      ))}
    </section>
  )
}

const tones: Readonly<Record<Maintenance['status'], Tone>> = { planned: 'waiting', done: 'ok', reverted: 'warning', cancelled: 'off' }
