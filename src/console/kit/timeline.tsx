import type { ReactNode } from 'react'
import { useNow } from './clock.ts'
import { Icon, type Tone } from './status.tsx'
import { ago, exactTime } from './time.tsx'

export type TimelineEntry = Readonly<{ key: string; at: string; tone: Tone; text: ReactNode; detail?: ReactNode }>

/** Events with their age. */
export function Timeline({ entries, label }: Readonly<{ entries: readonly TimelineEntry[]; label: string }>) {
  const now = useNow()
  return (
    <ol className="timeline" aria-label={label}>
      {entries.map(({ key, at, tone, text, detail }) => (
        <li key={key}>
          <time dateTime={at} title={exactTime(at)}>
            {ago(at, now)}
          </time>
          <Icon tone={tone} />
          <div>
            <div>{text}</div>
            {detail && <div className="dim">{detail}</div>}
          </div>
        </li>
      ))}
    </ol>
  )
}

export type StripMark = Readonly<{ at: string; tone: Tone; label: string }>

const [stripWidth, stripHeight] = [1000, 24]

/** A span of time as one line with a mark per event. The text beside it says the same in words. */
export function TimeStrip({ from, to, marks, label }: Readonly<{ from: number; to: number; marks: readonly StripMark[]; label: string }>) {
  const x = (at: string) => ((Date.parse(at) - from) / (to - from)) * stripWidth
  const hours = Array.from({ length: 5 }, (_, quarter) => (quarter * stripWidth) / 4)
  return (
    <svg className="strip" viewBox={`0 0 ${stripWidth} ${stripHeight}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <line className="strip-axis" x1={0} x2={stripWidth} y1={12} y2={12} />
      {hours.map((at) => (
        <line key={at} className="strip-tick" x1={at} x2={at} y1={8} y2={16} />
      ))}
      {marks
        .filter(({ at }) => Date.parse(at) >= from)
        .map(({ at, tone, label: name }) => (
          <line
            key={`${at} ${name}`}
            className={`strip-mark tone-${tone}`}
            x1={x(at)}
            x2={x(at)}
            y1={tone === 'failed' ? 2 : 5}
            y2={tone === 'failed' ? 22 : 19}
          >
            <title>{name}</title>
          </line>
        ))}
    </svg>
  )
}
