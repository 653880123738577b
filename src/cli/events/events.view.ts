import type { EventRecord } from '../../core/events/index.ts'
import { printable } from '../../core/kit/index.ts'
import type { Style } from '../kit/index.ts'

/** One line: when, whose, what, about what, who was told. */
export function eventLine({ at, tenant, stream, seq, type, ids, audience }: EventRecord, { paint }: Pick<Style, 'paint'>): string {
  const whose = tenant ?? stream
  const about = Object.entries(ids).map(([name, id]) => `${name}=${id}`)
  const told = audience === 'none' ? [] : [paint.dim(`told: ${printable(audience)}`)]
  const time = paint.dim(printable(at).slice(0, 19).replace('T', ' '))
  return [time, `${printable(whose)} #${seq}`, printable(type), ...about.map(printable), ...told].join('  ')
}
