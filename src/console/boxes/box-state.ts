import { type BoxRow, boxState } from '../../core/boxes/index.ts'
import type { Tone } from '../kit/index.ts'

const tones: Readonly<Record<string, Tone>> = {
  running: 'ok',
  failed: 'failed',
  down: 'failed',
  degraded: 'failed',
  provisioning: 'working',
  restoring: 'working',
  moving: 'working',
  importing: 'working',
  removed: 'off',
  unknown: 'off',
}

export const boxTone = (box: BoxRow): Tone => (box.fenceOverdue ? 'failed' : (tones[boxState(box)] ?? 'waiting'))

export const driftTones = { none: 'ok', minor: 'warning', major: 'failed', unknown: 'off' } as const satisfies Record<
  BoxRow['severity'],
  Tone
>

/** The marks of a box, beside its state. */
export const marksOf = ({ canary, managed, live, status, fenceOverdue, moving }: BoxRow): string =>
  [
    canary && 'canary',
    !managed && 'observed',
    !live && status !== 'removed' && 'not live',
    fenceOverdue && 'fence overdue',
    moving && (moving.state === 'confirming' ? 'move to confirm' : `to ${moving.to}`),
  ]
    .filter(Boolean)
    .join(', ')

type BoxFilter = Readonly<{
  q?: string | undefined
  tier?: string | undefined
  drift?: string | undefined
  state?: string | undefined
  host?: string | undefined
  version?: string | undefined
}>

/** Boxes that match all parts of a filter. Removed ones only where the state asks for them. */
export function filterBoxes(boxes: readonly BoxRow[], { q, tier, drift, state, host, version }: BoxFilter): readonly BoxRow[] {
  const text = q?.trim().toLowerCase()
  return boxes.filter(
    (box) =>
      (state ? boxState(box) === state : box.status !== 'removed') &&
      (!tier || box.tier === tier) &&
      (!drift || box.severity === drift) &&
      (!host || box.host === host) &&
      (!version || box.installed.synapse === version) &&
      (!text || [box.slug, box.tenant, box.host].some((one) => one.toLowerCase().includes(text))),
  )
}
