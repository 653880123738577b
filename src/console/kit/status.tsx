import type { ReactNode } from 'react'

/** The states of everything: `waiting` for time, `warning` for a person, and `off` for what does not apply or is not set up. Each has an icon and a word: colour never stands alone. */
export type Tone = 'ok' | 'working' | 'waiting' | 'warning' | 'failed' | 'off'

const shapes: Readonly<Record<Tone, ReactNode>> = {
  ok: <path d="M3.5 8.5l3 3 6-7" />,
  working: (
    <>
      <path d="M8 2.5a5.5 5.5 0 1 0 5.5 5.5" />
      <path d="M13.5 3.5v3h-3" />
    </>
  ),
  waiting: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3.2l2 1.3" />
    </>
  ),
  warning: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 5v3.4M8 10.8v.2" />
    </>
  ),
  failed: (
    <>
      <path d="M8 2.2l6.2 11.3H1.8z" />
      <path d="M8 6.6v3.2M8 11.6v.2" />
    </>
  ),
  off: <path d="M4.5 8h7" />,
}

export const Icon = ({ tone }: Readonly<{ tone: Tone }>) => (
  <svg className={`icon tone-${tone}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    {shapes[tone]}
  </svg>
)

export const Status = ({ tone, children, title }: Readonly<{ tone: Tone; children: ReactNode; title?: string | undefined }>) => (
  <span className={`status tone-${tone}`} title={title}>
    <Icon tone={tone} />
    <span>{children}</span>
  </span>
)
