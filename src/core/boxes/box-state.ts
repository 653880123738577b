import type { BoxRow } from './contract.ts'

/** The state of a box in one word, in every view. */
export function boxState(box: BoxRow): string {
  if (box.status !== 'ready') return box.status
  if (box.moving && box.moving.state !== 'confirming' && box.moving.state !== 'removing') return 'moving'
  if (box.maintenance) return 'maintenance'
  if (box.fenced) return 'fenced'
  return box.freshness === 'fresh' ? 'ready' : box.freshness
}
